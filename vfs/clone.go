package vfs

import "slices"

// Clone returns the file system as a kill of the process, without a loss of power, leaves it: readers
// of the copy see the same as readers of m, and pending or lost changes of m are so in the copy. The
// copy is independent of m and has no open handles, no locks and no hook.
func (m *Mem) Clone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := clone{files: map[*file]*file{}, dirs: map[*directory]*directory{}}
	out := m.empty()
	out.root = c.directory(m.root)
	for _, f := range c.files {
		if f.links > 0 {
			out.used += f.live.size
		}
	}
	return out
}

// clone builds one copy.
type clone struct {
	files map[*file]*file
	dirs  map[*directory]*directory
}

func (c *clone) node(n node) node {
	if n.dir != nil {
		return node{dir: c.directory(n.dir)}
	}
	return node{file: c.file(n.file)}
}

func (c *clone) directory(d *directory) *directory {
	if out := c.dirs[d]; out != nil {
		return out
	}
	out := newDirectory(d.id, d.path)
	c.dirs[d] = out
	for name, n := range d.live {
		out.live[name] = c.node(n)
	}
	for name, n := range d.durable {
		out.durable[name] = c.node(n)
	}
	out.pending = slices.Clone(d.pending)
	for i := range out.pending {
		if o := &out.pending[i]; o.set != "" {
			o.node = c.node(o.node)
		}
	}
	return out
}

func (c *clone) file(f *file) *file {
	if out := c.files[f]; out != nil {
		return out
	}
	out := &file{id: f.id, path: f.path, links: f.links, live: f.live.share(), durable: f.durable.share(),
		pending: slices.Clone(f.pending)}
	c.files[f] = out
	return out
}
