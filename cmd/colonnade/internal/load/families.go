package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/client"
)

// families are the column families of the table, and the missing ones that lines use. Only the reader of
// the input uses it.
type families struct {
	target  *target
	retrier *retrier
	known   map[string]bool
	missing []string
}

// want records that a line uses a family.
func (f *families) want(name []byte) {
	if !f.known[string(name)] {
		f.known[string(name)] = true
		f.missing = append(f.missing, string(name))
	}
}

// create creates the missing families one by one. It is no failure if another client has just created one.
// Nor is an invalid name: the server reports it again for its line.
func (f *families) create(ctx context.Context) error {
	for _, name := range f.missing {
		err := f.retrier.do(ctx, func() error {
			return ifNew(f.target.CreateFamilies(context.WithoutCancel(ctx), client.Family{Name: name}))
		})
		if err != nil && !refused(err) {
			return fmt.Errorf("create column family %q: %w", name, err)
		}
	}
	f.missing = f.missing[:0]
	return nil
}

// prepare creates the table and its locality groups before the first line is read. It does not retry if
// the server cannot be reached: a wrong URL is more likely than a server that is starting.
func (l *loader) prepare(ctx context.Context) (*families, error) {
	if l.o.CreateTable {
		if err := ifNew(l.target.Create(ctx, client.TableSpec{})); err != nil {
			return nil, fmt.Errorf("create table %q: %w", l.o.Table, err)
		}
	}
	info, err := l.target.Describe(ctx)
	if errors.Is(err, client.ErrNotFound) {
		return nil, fmt.Errorf("%w: create it first, or say --create-table", err)
	}
	if err != nil {
		return nil, err
	}
	f := &families{target: l.target, retrier: &l.retrier, known: make(map[string]bool)}
	for _, family := range info.Families {
		f.known[family.Name] = true
	}
	for _, group := range l.o.Groups {
		if err := f.createGroup(ctx, group, info); err != nil {
			return nil, fmt.Errorf("locality group %s: %w", strings.Join(group, ","), err)
		}
	}
	return f, nil
}

// createGroup creates families in a locality group of their own, unless there is a group of exactly these
// families.
func (f *families) createGroup(ctx context.Context, names []string, info client.TableInfo) error {
	want := slices.Sorted(slices.Values(names))
	for _, group := range info.Groups {
		if slices.Equal(slices.Sorted(slices.Values(group.Families)), want) {
			return nil
		}
	}
	for _, name := range names {
		if f.known[name] {
			return fmt.Errorf("column family %q is there already, and not in this group: a family cannot move", name)
		}
	}
	group := make([]client.Family, len(names))
	for i, name := range names {
		group[i].Name = name
	}
	if err := f.target.CreateGroup(ctx, group...); err != nil {
		return err
	}
	for _, name := range names {
		f.known[name] = true
	}
	return nil
}
