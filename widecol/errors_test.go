package widecol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestErrorTellsItsCause(t *testing.T) {
	e := Errorf(Corrupt, "corrupt", "partition %s is damaged", "_dat_t")
	if got, want := e.Error(), "partition _dat_t is damaged"; got != want {
		t.Errorf("Error = %q, want %q", got, want)
	}
	e.Cause = io.ErrUnexpectedEOF
	if got, want := e.Error(), "partition _dat_t is damaged: unexpected EOF"; got != want {
		t.Errorf("Error = %q, want %q", got, want)
	}
	if !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("%v is not its cause", e)
	}
}

func TestAtCopies(t *testing.T) {
	e := UnknownTable("t")
	if e.Index != -1 {
		t.Errorf("Index = %d, want -1", e.Index)
	}
	if f := e.At(3); f.Index != 3 || e.Index != -1 || f.Code != e.Code {
		t.Errorf("At(3) = %+v of %+v", f, e)
	}
	if got := at(io.EOF, 1); got != io.EOF {
		t.Errorf("at(EOF) = %v, want EOF", got)
	}
}

func TestKindOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Kind
	}{
		{nil, Internal},
		{io.EOF, Internal},
		{context.Canceled, Internal},
		{UnknownTable("t"), NotFound},
		{fmt.Errorf("drop: %w", TableExists("t")), Exists},
		{FamilyExists("t", "f"), Exists},
		{UnknownFamily("t", "f"), NotFound},
		{Errorf(Overloaded, "x", "y"), Overloaded},
	} {
		if got := KindOf(tc.err); got != tc.want {
			t.Errorf("KindOf(%v) = %d, want %d", tc.err, got, tc.want)
		}
	}
}

func TestMessagesQuoteAndCutNames(t *testing.T) {
	got := UnknownFamily("t\n", strings.Repeat("x", 10_000)).Error()
	if !strings.Contains(got, `"t\n"`) || strings.ContainsRune(got, '\n') || len(got) > 300 {
		t.Errorf("message of %d bytes: %.300q", len(got), got)
	}
}
