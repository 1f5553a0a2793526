package vfs

import "bytes"

// pageSize is the unit that a write copies. It is a multiple of the sector.
const pageSize = 4096

// page is never changed once a fileData holds it.
type page [pageSize]byte

var zeroPage page

// fileData is the content of a file, made of shared pages. A nil page is all zeros, and so are the
// bytes past size in the last page. Copies by share are independent, and cost nothing until one is
// written.
type fileData struct {
	size   int64
	pages  []*page
	shared bool // pages belongs to other images too
}

// share returns an independent copy.
func (im *fileData) share() fileData {
	im.shared = true
	return *im
}

// readAt copies the content at off into p, and returns the number of bytes.
func (im *fileData) readAt(p []byte, off int64) int {
	if off >= im.size {
		return 0
	}
	p = p[:min(int64(len(p)), im.size-off)]
	for n := 0; n < len(p); {
		from := &zeroPage
		if pg := im.pages[(off+int64(n))/pageSize]; pg != nil {
			from = pg
		}
		n += copy(p[n:], from[(off+int64(n))%pageSize:])
	}
	return len(p)
}

// write puts p at off. A gap before it becomes zeros.
func (im *fileData) write(p []byte, off int64) {
	im.grow(max(im.size, off+int64(len(p))))
	for len(p) > 0 {
		at := int(off % pageSize)
		n := min(len(p), pageSize-at)
		pg := &im.pages[off/pageSize]
		*pg = (*pg).with(p[:n], at)
		p, off = p[n:], off+int64(n)
	}
}

// grow extends the content with zeros and unshares the table of pages.
func (im *fileData) grow(size int64) {
	n := int((size + pageSize - 1) / pageSize)
	if im.shared {
		im.pages = append(make([]*page, 0, max(n, len(im.pages))), im.pages...)
		im.shared = false
	}
	for len(im.pages) < n {
		im.pages = append(im.pages, nil)
	}
	im.size = max(im.size, size)
}

// with returns a copy of the page with p at an offset.
func (old *page) with(p []byte, at int) *page {
	if old == nil && bytes.Equal(p, zeroPage[:len(p)]) {
		return nil
	}
	pg := new(page)
	if old != nil && len(p) < pageSize {
		*pg = *old
	}
	copy(pg[at:], p)
	return pg
}
