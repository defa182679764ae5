package filetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// PDFEngine returns the folder where tests keep the engine for PDF files once it is compiled, which takes 4 s of processor
// time in each package otherwise. It lies in Go's build cache and is removed with it; what is in it is named by the
// versions and the code that it was made of.
func PDFEngine() (string, error) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(strings.TrimSpace(string(cache)), "quarry-pdf")
	return folder, os.MkdirAll(folder, 0o700)
}
