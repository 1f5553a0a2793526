package widecol

// CheckAndMutate is a change of one row that depends on what the row holds.
type CheckAndMutate struct {
	Row []byte
	// If is matched when it selects at least one cell of the row. Its Rows are not used.
	If Query
	// Not turns the condition round: matched is when If selects nothing.
	Not bool
	// Then are applied when the condition is matched, Else when it is not, in order. All are of Row. At
	// most one of the two may be empty.
	Then, Else []Mutation
}

// Check returns an error if no table can apply c. Its Index counts through Then and Else.
func (c *CheckAndMutate) Check(maxValue int) error {
	if err := CheckRowKey(c.Row); err != nil {
		return err
	}
	if len(c.Then)+len(c.Else) == 0 {
		return Errorf(Invalid, "empty_write", "a conditional write needs at least one mutation")
	}
	for i := range len(c.Then) + len(c.Else) {
		m := c.mutation(i)
		if err := m.Check(maxValue); err != nil {
			return err.At(i)
		}
		if string(m.Row) != string(c.Row) {
			return Errorf(Invalid, "invalid_row_key", "a conditional write has mutations of one row only").At(i)
		}
	}
	return nil
}

// mutation returns mutation i of Then and Else.
func (c *CheckAndMutate) mutation(i int) *Mutation {
	if i < len(c.Then) {
		return &c.Then[i]
	}
	return &c.Else[i-len(c.Then)]
}
