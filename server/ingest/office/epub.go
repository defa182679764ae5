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
	err := a.parse("META-INF/container.xml", func(x *parser, root xml.StartElement) {
		x.Find("rootfile", func(e xml.StartElement) {
			if part == "" {
				part = attribute(e, "full-path")
			}
		})
	})
	if err != nil {
		return b, err
	}
	pages, listed := map[string]string{}, map[string]bool{}
	err = a.parse(part, func(x *parser, root xml.StartElement) {
		x.Each(func(e xml.StartElement) {
			if e.Name.Local == "metadata" {
				b.Properties.read(x, e)
				return
			}
			list := e.Name.Local
			x.Each(func(e xml.StartElement) {
				name, media := pages[attribute(e, "idref")], attribute(e, "media-type")
				switch {
				case list == "manifest" && (strings.HasSuffix(media, "html+xml") || strings.HasSuffix(media, "/html")):
					pages[attribute(e, "id")] = path.Join(path.Dir(part), unescape(attribute(e, "href")))
				case list != "spine" || listed[name]:
				case name == "" || !a.Has(name):
					a.leave("chapter "+attribute(e, "idref"), errMissing)
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
	return a.parse("META-INF/encryption.xml", func(x *parser, _ xml.StartElement) {
		x.Find("CipherReference", func(e xml.StartElement) {
			if chapters[unescape(attribute(e, "URI"))] {
				x.Fail(ErrEncrypted)
			}
		})
	})
}
