package config

// Change is an option whose value is another after a Reload.
type Change struct {
	Name     string
	Old, New string
	Applied  bool // false if it takes a restart
}

// OnReload has a function called after each Reload that changed a value, in the goroutine of Reload.
func (s *Set) OnReload(hook func()) { s.hooks = append(s.hooks, hook) }

// Reload reads the file again and stores the values of options that declared Reloads. It returns what differs
// from the values in force, also options that take a restart. An error means that nothing has changed.
func (s *Set) Reload() ([]Change, error) {
	file, err := s.readFile()
	if err != nil {
		return nil, err
	}
	before := make([]Option, len(s.options))
	for i, o := range s.options {
		before[i] = *o
	}
	tables := make([][]Entry, len(s.tables))
	for i, t := range s.tables {
		tables[i] = t.now
	}
	changes, changed := s.apply(file)
	if err := s.check(); err != nil {
		for i, t := range s.tables {
			t.apply(tables[i])
		}
		for i, o := range s.options {
			*o = before[i]
			o.store(o.now.value)
		}
		return nil, err
	}
	if changed {
		for _, hook := range s.hooks {
			hook()
		}
	}
	return changes, nil
}

// apply stores what the file sets now.
func (s *Set) apply(file file) (changes []Change, changed bool) {
	for _, t := range s.tables {
		if change, differs := t.apply(file.tables[t]); differs {
			changes, changed = append(changes, change), true
		}
	}
	for _, o := range s.options {
		old := o.now
		o.inFile = file.settings[o.Name]
		next := o.explicit()
		if o.derive != nil && next.from == fromDefault {
			next.value = o.derive()
		}
		from, to := o.kind.toml(old.value), o.kind.toml(next.value)
		if from != to {
			changes = append(changes, Change{o.Name, from, to, o.reloads})
			changed = changed || o.reloads
		}
		if o.reloads || from == to {
			o.now = next
			o.store(next.value)
		}
	}
	return changes, changed
}
