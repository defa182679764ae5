package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/ingest"
)

const (
	maxFileName  = 255     // characters
	maxFormField = 1 << 16 // bytes
	plainText    = "text/plain; charset=utf-8"
	fileNotFound = "File not found"
)

// fileRoutes returns the routes of files attached to questions.
func fileRoutes() []route {
	return []route{
		{pattern: "POST /user/projects/file/upload", needs: directory.PermissionBasic, timeout: ingestTimeout,
			maxBody: wire.MaxUploadBytes, changes: true, respond: uploadFiles},
		noBody("GET /chat/file/{id}", directory.PermissionBasic, downloadFile),
	}
}

// uploaded is a file of a form.
type uploaded struct {
	name, media string
	data        []byte
}

// uploadFiles answers POST /user/projects/file/upload. Files that ingest reads are accepted; they can be used in
// questions at once.
func uploadFiles(c *call) any {
	files, form := readUpload(c.Request)
	ids := temporaryIDs(form)
	project := form.whole("project_id", 0, anyNumber)
	incognito := form.sessionID("incognito_session_id")
	check(form.failure())
	if project != nil {
		abort(detailed(http.StatusNotFound, "Project not found"))
	}
	answered := wire.UploadedFiles{UserFiles: []wire.UserFile{}, RejectedFiles: []wire.RejectedFile{}}
	for _, file := range files {
		reject := func(reason string) {
			answered.RejectedFiles = append(answered.RejectedFiles,
				wire.RejectedFile{FileName: file.name, Reason: reason})
		}
		if incognito != "" {
			reject("files cannot be uploaded to an incognito conversation, which stores nothing")
			continue
		}
		if strings.HasPrefix(file.media, "image/") || chatFileType(file.name) == wire.ChatFileImage {
			reject("pictures cannot be read: the model of this server gets text only")
			continue
		}
		text, err := ingest.TextOf(c.ctx, c.Local.Readers, file.name, file.data)
		if err != nil {
			reject(err.Error())
			continue
		}
		kept := c.newFile(file, text)
		check(c.Chats(c.who.Tenant).AddFile(c.ctx, kept, file.data))
		answered.UserFiles = append(answered.UserFiles, userFile(c.who, kept, temporaryID(ids, file)))
	}
	return answered
}

func (c *call) newFile(file uploaded, content string) chat.File {
	now := c.Now()
	return chat.File{ID: uuid.NewString(), UserID: chatUser(c.who), Name: file.name, Media: file.media,
		Type: chatFileType(file.name), Text: content, Tokens: text.EstimateTokens(content), Created: now, Used: now}
}

func userFile(who directory.Principal, file chat.File, temporary *string) wire.UserFile {
	used := directory.Timestamp(file.Used)
	return wire.UserFile{ID: file.ID, TempID: temporary, Name: file.Name, UserID: &who.UserID, FileID: file.ID,
		CreatedAt: directory.Timestamp(file.Created), Status: wire.FileCompleted, LastAccessedAt: &used,
		FileType: file.Media, ChatFileType: file.Type, TokenCount: &file.Tokens}
}

// chatFileType returns the type of a file by its extension.
func chatFileType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv":
		return wire.ChatFileTable
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic":
		return wire.ChatFileImage
	case ".html", ".htm":
		return wire.ChatFileDocument
	}
	return wire.ChatFileText
}

// readUpload reads a form: its files, and its other fields.
func readUpload(r *http.Request) (files []uploaded, form *fields) {
	err := r.ParseMultipartForm(wire.MaxUploadBytes) // all in memory: the body is bounded by the same number
	if err != nil && !errors.Is(err, http.ErrNotMultipart) && !errors.Is(err, http.ErrMissingBoundary) {
		abort(unreadable(err))
	}
	if err != nil || len(r.MultipartForm.File["files"]) == 0 {
		abort(invalid(problem{kind: "missing", where: []any{"body", "files"}, text: "Field required", input: "None"}))
	}
	if len(r.MultipartForm.File["files"]) > wire.MaxUploadFiles {
		abort(invalid(problem{kind: "too_long", where: []any{"body", "files"},
			text: fmt.Sprintf("List should have at most %d items", wire.MaxUploadFiles)}))
	}
	form = newFields("body")
	for name, values := range r.MultipartForm.Value {
		if text := values[len(values)-1]; text != "" { // an empty field counts as missing
			form.raw[name] = mustJSON(text)
		}
	}
	for _, header := range r.MultipartForm.File["files"] {
		files = append(files, uploaded{fileName(header.Filename), mediaType(header), readPart(header)})
	}
	return files, form
}

func readPart(header *multipart.FileHeader) []byte {
	file := must(header.Open())
	defer file.Close() // it is in memory
	return must(io.ReadAll(file))
}

// fileName returns a name without folders and control characters.
func fileName(given string) string {
	name := path.Base(strings.ReplaceAll(strings.ToValidUTF8(given, ""), `\`, "/"))
	name = firstRunes(strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return -1
		}
		return r
	}, name)), maxFileName)
	if name == "" || name == "." || name == ".." || name == "/" {
		return "file"
	}
	return name
}

// mediaType returns the media type that the sender gave, or text/plain.
func mediaType(part *multipart.FileHeader) string {
	const longest = 100
	media, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if err != nil || len(media) > longest || media == "application/octet-stream" {
		return "text/plain"
	}
	return media
}

// temporaryIDs reads temp_id_map, the sender's own ids of the files: a JSON object in a text.
func temporaryIDs(form *fields) map[string]string {
	ids := map[string]string{}
	if text := form.optionalText("temp_id_map", maxFormField); text != nil &&
		wire.Unmarshal([]byte(*text), &ids) != nil {
		form.refuse(mustJSON(*text), "dict_type", "Input should be a valid dictionary", "temp_id_map")
	}
	return ids
}

// temporaryID returns the id of a file, by its name or by its size and the beginning of its name; nil if there is none.
func temporaryID(ids map[string]string, file uploaded) *string {
	const shortened = 50 // characters
	for _, key := range []string{file.name, strconv.Itoa(len(file.data)) + "|" + firstRunes(file.name, shortened)} {
		if id, ok := ids[key]; ok {
			return &id
		}
	}
	return nil
}

// downloadFile answers GET /chat/file/{id} with an uploaded file, for the user who uploaded it. It is sent as an
// attachment: a browser must not render it.
func downloadFile(c *call) any {
	name, media, data, err := c.Chats(c.who.Tenant).FileData(c.ctx, chatUser(c.who), c.PathValue("id"))
	if errors.Is(err, chat.ErrNotFound) {
		err = detailed(http.StatusNotFound, fileNotFound)
	}
	check(err)
	if media == "text/plain" {
		media = plainText
	}
	header := c.w.Header()
	header.Set("Content-Type", media)
	header.Set("Content-Length", strconv.Itoa(len(data)))
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	_, _ = c.w.Write(data) // the caller may have disconnected
	return written{}
}

// attached reads the files of a question, and those of its agent and of earlier messages that still exist.
func (c *call) attached(agent []directory.File, asked []wire.ChatFile, history []chat.Message) (
	files []chat.File, named []wire.ChatFile) {
	wanted := append([]wire.ChatFile{}, asked...)
	for _, m := range history {
		wanted = append(wanted, m.Files...)
	}
	read := map[string]bool{}
	for _, one := range agent { // its owner gave them to all who may use it
		switch file, err := c.Chats(c.who.Tenant).File(c.ctx, one.UserID, one.ID); {
		case err == nil:
			files, read[one.ID] = append(files, file), true
		case !errors.Is(err, chat.ErrNotFound):
			abort(err)
		}
	}
	for i, one := range wanted {
		if read[one.ID] {
			continue
		}
		read[one.ID] = true
		file, err := c.Chats(c.who.Tenant).File(c.ctx, chatUser(c.who), one.ID)
		switch {
		case err == nil:
			files = append(files, file)
		case !errors.Is(err, chat.ErrNotFound):
			abort(err)
		case i < len(asked):
			abort(coded("NOT_FOUND", "File %s not found", quoted(clip(one.ID))))
		}
		if err == nil && i < len(asked) {
			named = append(named, wire.ChatFile{ID: file.ID, Type: file.Type, Name: file.Name, UserFileID: file.ID})
		}
	}
	return files, named
}

// chatFiles reads file_descriptors.
func (f *fields) chatFiles() (files []wire.ChatFile) {
	types := []string{wire.ChatFileImage, wire.ChatFileDocument, wire.ChatFileText, wire.ChatFileTable}
	files = objects(f, "file_descriptors", func(file *fields) wire.ChatFile {
		return wire.ChatFile{ID: file.requireText("id", 0, maxItemRunes), Type: file.requireEnum("type", types)}
	})
	f.refuseLong("file_descriptors", len(files), wire.MaxUploadFiles)
	return files
}
