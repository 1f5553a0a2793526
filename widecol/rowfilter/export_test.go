package rowfilter

// SetHeldBytes changes how many bytes of cells an Eval holds.
func (e *Eval) SetHeldBytes(n int) { e.held.limit = n }

// ReadOfLong returns how many bytes of the last long text were read.
func (e *Eval) ReadOfLong() int { return e.long.at }

// Held returns how many bytes of cells an Eval holds.
func (e *Eval) Held() int { return e.held.size }
