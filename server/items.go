package server

import "github.com/colonnade-db/colonnade/widecol"

// Items decodes items of a write, as the server does, for those who send their cells in another form. It is for one
// goroutine. The zero value is ready.
type Items struct{ x *requestContext }

// Decode returns the mutations of an item: JSON. A cell without a time has widecol.CommitTime. They are valid until the
// next Decode, and may point into item, which is changed.
func (i *Items) Decode(item []byte) ([]widecol.Mutation, error) {
	if i.x == nil {
		i.x = &requestContext{scratch: new(scratch)}
	}
	x := i.x
	x.mutations, x.ends, x.values = x.mutations[:0], x.ends[:0], x.values[:0]
	d := &x.decoder
	d.Reset(item)
	d.x, d.columns = x, 0
	x.decodeItem(d)
	d.End()
	return x.mutations, d.Err()
}
