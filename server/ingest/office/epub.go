package office

import (
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
	err := a.parse("META-INF/container.xml", func(x *parser) {
		x.Find("rootfile", func(e element) {
			if part == "" {
				part = e.Attribute("full-path")
			}
		})
	})
	if err != nil {
		return b, err
	}
	pages, listed := map[string]string{}, map[string]bool{}
	err = a.parse(part, func(x *parser) {
		x.Each(func(e element) {
			if e.Name == "metadata" {
				b.Properties.read(x)
				return
			}
			list := e.Name
			x.Each(func(e element) {
				name, media := pages[e.Attribute("idref")], e.Attribute("media-type")
				switch {
				case list == "manifest" && (strings.HasSuffix(media, "html+xml") || strings.HasSuffix(media, "/html")):
					pages[e.Attribute("id")] = path.Join(path.Dir(part), unescape(e.Attribute("href")))
				case list != "spine" || listed[name]:
				case name == "" || !a.Has(name):
					a.leave("chapter "+e.Attribute("idref"), errMissing)
				default:
					listed[name], b.Chapters = true, append(b.Chapters, name)
				}
			})
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
	return a.parse("META-INF/encryption.xml", func(x *parser) {
		x.Find("CipherReference", func(e element) {
			if chapters[unescape(e.Attribute("URI"))] {
				x.Fail(ErrEncrypted)
			}
		})
	})
}
