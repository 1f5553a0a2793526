package rowfilter

// SetHeldBytes changes how many bytes of cells an Eval holds.
func (e *Eval) SetHeldBytes(n int) { e.held.limit = n }

// Held returns how many bytes of cells an Eval holds.
func (e *Eval) Held() int { return e.held.size }
