package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/reliability/script"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// trial is one run of a workload with one fault.
type trial struct {
	*workload
	seed  uint64
	fault *fault
	disk  *vfs.Mem // what lies below
	fs    vfs.FS   // with the fault
	l     *ledger.Ledger
	debts ledger.Debts // from before the present life
	store script.Store

	acks   int // since the fault
	images int
	moved  int // steps of moves that were left at the end
}

// hang is how long a call may take when nothing fails.
const hang = 30 * time.Second

// run runs the workload to its end, whatever fails, and judges the result. The error is a broken promise.
func (t *trial) run() error {
	// The store's directory exists before. Its name is the operator's to make durable.
	if err := errors.Join(t.disk.MkdirAll("store"), t.disk.SyncDir("/")); err != nil {
		return err
	}
	t.fs = vfs.Inject(t.disk, t.fault.rule)
	t.debts = ledger.New(1).Debts()
	for step := 0; step < t.steps; {
		if err := t.open(); err != nil {
			return err
		}
		over := false // the store takes no more writes
		for ; step < t.steps && !over; step++ {
			var err error
			if over, err = t.step(); err != nil {
				return errors.Join(err, t.store.Close())
			}
			if step%t.life == t.life-1 {
				step++
				break
			}
		}
		if err := t.end(over); err != nil {
			return err
		}
	}
	return t.leave()
}

// open opens the store, again if the fault made the first open fail.
func (t *trial) open() error {
	t.fault.restarted()
	store, err := t.level(t.fs, t.size)
	if err != nil {
		if err := t.surfaces(err); err != nil {
			return fmt.Errorf("open: %w", err)
		}
		if err := t.lose(t.debts); err != nil {
			return fmt.Errorf("after an opening that failed: %w", err)
		}
		t.fault.heal()
		t.fault.restarted()
		if store, err = t.level(t.fs, t.size); err != nil {
			return fmt.Errorf("open again, with nothing in the way: %w", err)
		}
	}
	t.store = store
	found, err := t.read()
	if err == nil {
		t.l, err = t.debts.Settle(found)
	}
	if err == nil {
		err = t.lose(t.l.Debts())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("after opening: %w", err), store.Close())
	}
	return nil
}

// honest judges an error: the fault has happened, and the store does not call it damage.
func (t *trial) honest(err error) error {
	var damage *engine.CorruptError
	switch {
	case t.fault.happened() == nil:
		return fmt.Errorf("an error without a cause: %w", err)
	case errors.As(err, &damage):
		return fmt.Errorf("a failure of the disk is called damage: %w", err)
	}
	return nil
}

// surfaces judges an error of a call that only passes the fault on.
func (t *trial) surfaces(err error) error {
	if err := t.honest(err); err != nil {
		return err
	}
	if !errors.Is(err, t.fault.happened().number) {
		return fmt.Errorf("it fails, but not as the disk did: %w", err)
	}
	return nil
}

// read reads everything. It repeats a failed read once the fault is over.
func (t *trial) read() ([]ledger.Cells, error) {
	found, err := t.store.Read()
	if err != nil {
		if err := t.surfaces(err); err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		t.fault.heal()
		if found, err = t.store.Read(); err != nil {
			return nil, fmt.Errorf("read again, with nothing in the way: %w", err)
		}
	}
	return script.Split(found, 1)
}

// step does one step, several times if need be. over means that the store accepts no more writes.
func (t *trial) step() (over bool, err error) {
	for begin := time.Now(); ; {
		s := t.mix.Begin(t.seed, t.l, 0)
		err := t.do(s)
		if err == nil {
			t.l.Acked(0)
			return false, t.acked(s)
		}
		if err := t.documented(s, err); err != nil {
			return false, fmt.Errorf("%v: %w", s, err)
		}
		t.fault.heal()
		var unknown *engine.UnknownError
		var readOnly *engine.ReadOnlyError
		switch {
		case errors.As(err, &unknown):
			if err = unknown.Wait(); err == nil {
				t.l.Acked(0)
				return false, t.acked(s)
			}
			return true, t.closed(s)
		case errors.As(err, &readOnly):
			return true, errors.Join(t.l.Refused(0), t.closed(s))
		}
		if err := t.l.Refused(0); err != nil {
			return false, err
		}
		if err := t.shows(); err != nil {
			return false, fmt.Errorf("after %v was refused: %w", s, err)
		}
		if time.Since(begin) > hang {
			return false, fmt.Errorf("%v is still refused, with nothing in the way: %w", s, err)
		}
	}
}

// do makes a call. If a lasting fault happens meanwhile, it reads and then heals the fault.
func (t *trial) do(s script.Step) error {
	done := make(chan error, 1)
	go func() { done <- s.Do(t.store) }()
	stuck := time.NewTimer(hang)
	defer stuck.Stop()
	hit := t.fault.hit
	if !t.fault.sticky {
		hit = nil
	}
	for {
		select {
		case err := <-done:
			return err
		case <-hit:
			hit = nil
			if err := t.readOn(s); err != nil {
				t.fault.heal()
				return errors.Join(err, <-done)
			}
			stuck.Reset(hang)
			time.AfterFunc(grace, t.fault.heal)
		case <-stuck.C:
			panic(fmt.Sprintf("%v: %v does not return", t.fault, s))
		}
	}
}

// grace is how long a lasting fault lasts.
const grace = 3 * time.Millisecond

// readOn reads while writes fail.
func (t *trial) readOn(s script.Step) error {
	if !t.fault.happened().spares() {
		return nil
	}
	before := t.l.Debts()
	found, err := t.store.Read()
	if err != nil {
		return broken{fmt.Errorf("read while writes fail: %w", err)}
	}
	split, err := script.Split(found, 1)
	if err == nil {
		err = t.l.Seen(before, split)
	}
	if err != nil {
		return broken{fmt.Errorf("read while writes fail: %w", err)}
	}
	return nil
}

// broken is a promise that was broken during a call.
type broken struct{ error }

// documented judges the error of a call.
func (t *trial) documented(s script.Step, err error) error {
	var unknown *engine.UnknownError
	var readOnly *engine.ReadOnlyError
	var model *widecol.Error
	late := errors.Is(err, engine.ErrSlowDisk) || errors.Is(err, engine.ErrOverloaded)
	switch {
	case errors.As(err, new(broken)):
		return err
	case late && !errors.As(err, &readOnly): // on a busy machine without any failure
		return nil
	}
	if err := t.honest(err); err != nil {
		return err
	}
	switch {
	case t.tables && !s.Maintains() && !errors.As(err, &model):
		return fmt.Errorf("not an error of the data model: %w", err)
	case errors.As(err, &unknown), errors.As(err, &readOnly), errors.Is(err, engine.ErrDiskFull):
		return nil
	case t.tables && errors.Is(err, t.fault.happened().number):
		return nil // a deletion reads first
	}
	return fmt.Errorf("not an error that is documented: %w", err)
}

// acked judges an acknowledgement.
func (t *trial) acked(s script.Step) error {
	if t.fault.happened() == nil {
		return nil
	}
	if err := t.fault.acknowledged(); err != nil {
		return fmt.Errorf("%v: %w", s, err)
	}
	t.acks++
	if err := t.shows(); err != nil {
		return fmt.Errorf("after %v: %w", s, err)
	}
	if err := t.lose(t.l.Debts()); err != nil {
		return fmt.Errorf("after %v: %w", s, err)
	}
	return nil
}

// shows reads, and judges the result.
func (t *trial) shows() error {
	found, err := t.read()
	if err == nil {
		err = t.l.Shows(found)
	}
	return err
}

// closed judges a store that accepts no more writes.
func (t *trial) closed(s script.Step) error {
	if t.store.Health() == nil {
		return fmt.Errorf("the outcome of %v is not known, and the store goes on", s)
	}
	if cells, _ := t.l.Now(0); len(cells) > 0 {
		// Nobody keeps account of this one: it must not be there, now or ever.
		var readOnly *engine.ReadOnlyError
		err := t.store.Write("shared", []script.Row{{Key: "a-late", Values: [script.Parts]string{"late"}}})
		if !errors.As(err, &readOnly) {
			return fmt.Errorf("a write to a store that takes none: %v", err)
		}
	}
	if err := t.shows(); err != nil {
		return fmt.Errorf("after %v: %w", s, err)
	}
	return t.lose(t.l.Debts())
}

// end closes the store. Close may return the error of a read-only store.
func (t *trial) end(over bool) error {
	t.debts = t.l.Debts()
	err := t.store.Close()
	if err == nil || over {
		return nil
	}
	if err := t.honest(err); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// leave opens the store for the last time, on a sound disk, and examines its files.
func (t *trial) leave() error {
	t.fault.heal()
	if err := t.open(); err != nil {
		return err
	}
	err := t.fault.installed(func(name string) bool {
		_, err := t.disk.Stat(name)
		return err == nil
	})
	return errors.Join(err, t.arrive(), t.store.Close())
}

// arrive goes on with the moves of parts to their ends. Those that the fault has held up have lost nothing.
func (t *trial) arrive() error {
	for more := true; more; {
		var err error
		if more, err = t.store.MoveSome(); err != nil {
			return fmt.Errorf("move, with nothing in the way: %w", err)
		}
		t.moved++
	}
	if err := t.shows(); err != nil {
		return fmt.Errorf("after the last move: %w", err)
	}
	return nil
}

// lose crashes the disk and judges the result: after a loss of power, and after a kill with a loss of power
// after the next open.
func (t *trial) lose(debts ledger.Debts) error {
	if t.fault.happened() == nil {
		return nil
	}
	if err := t.survives(t.disk.Crash(vfs.DropAll, 0), debts, nil); err != nil {
		return fmt.Errorf("loss of power: %w", err)
	}
	if t.acks > closely {
		return nil
	}
	killed := t.disk.Clone()
	err := t.survives(killed, debts, func(l *ledger.Ledger) error {
		return t.survives(killed.Crash(vfs.DropAll, 0), l.Debts(), nil)
	})
	if err != nil {
		return fmt.Errorf("end of the process, opened again, then loss of power: %w", err)
	}
	return nil
}

// closely is the number of acknowledgements after a fault that are also followed by a kill.
const closely = 3

// survives opens an image and judges what it holds. then is called while the store
// is open, with what it owes from now on.
func (t *trial) survives(image *vfs.Mem, debts ledger.Debts, then func(*ledger.Ledger) error) (err error) {
	t.images++
	store, err := t.level(image, t.size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	found, err := store.Read()
	if err != nil {
		return err
	}
	split, err := script.Split(found, 1)
	if err != nil {
		return err
	}
	l, err := debts.Settle(split)
	if err == nil && then != nil {
		err = then(l)
	}
	return err
}
