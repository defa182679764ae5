package office

import (
	"encoding/xml"
	"path"
	"strings"
)

// Book is the frame of an EPUB.
type Book struct {
	Properties
	Chapters []string // pages of XHTML in reading order; names for Archive.Read
}

// Book reads the frame of an EPUB.
func (a *Archive) Book() (Book, error) {
	var b Book
	part := ""
	err := a.parse("META-INF/container.xml", func(x *parser, root xml.StartElement) error {
		return x.find("rootfile", func(e xml.StartElement) {
			if part == "" {
				part = attribute(e, "full-path")
			}
		})
	})
	if err != nil {
		return b, err
	}
	pages, listed := map[string]string{}, map[string]bool{}
	err = a.parse(part, func(x *parser, root xml.StartElement) error {
		return x.each(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "metadata":
				return b.Properties.read(x, e)
			case "manifest":
				return x.children(func(e xml.StartElement) {
					if media := attribute(e, "media-type"); strings.HasSuffix(media, "html+xml") || strings.HasSuffix(media, "/html") {
						pages[attribute(e, "id")] = path.Join(path.Dir(part), unescape(attribute(e, "href")))
					}
				})
			case "spine":
				return x.children(func(e xml.StartElement) {
					if name := pages[attribute(e, "idref")]; name == "" || !a.Has(name) {
						a.leave("chapter "+attribute(e, "idref"), errMissing)
					} else if !listed[name] {
						listed[name], b.Chapters = true, append(b.Chapters, name)
					}
				})
			}
			return x.skip()
		})
	})
	if err != nil {
		return b, err
	}
	if b.Created.IsZero() {
		b.Created = b.date
	}
	if len(b.Chapters) == 0 {
		return b, errNoContent
	}
	return b, a.checkRights(listed)
}

// checkRights returns ErrEncrypted if chapters are encrypted. Fonts may be.
func (a *Archive) checkRights(chapters map[string]bool) error {
	return a.parse("META-INF/encryption.xml", func(x *parser, _ xml.StartElement) error {
		encrypted := false
		err := x.find("CipherReference", func(e xml.StartElement) {
			encrypted = encrypted || chapters[unescape(attribute(e, "URI"))]
		})
		if err == nil && encrypted {
			return ErrEncrypted
		}
		return err
	})
}
