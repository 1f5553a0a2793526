package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/client"
)

// send writes a batch. When ctx is done it still waits for a request under way: otherwise the outcome would
// be unknown.
func (l *loader) send(ctx context.Context, b *batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.retrier.do(ctx, func() error {
		err := l.target.write(context.WithoutCancel(ctx), b)
		b.lent = b.lent || err != nil
		return err
	})
	switch {
	case err == nil:
		l.acknowledged(b)
		return nil
	case !refused(err):
		return l.failed(b, err)
	case !l.o.SkipBad || len(b.lines) == 1:
		return l.bad(l.blame(b, err))
	}
	return l.sendParts(ctx, b)
}

// sendParts writes the good lines of a batch that was refused for a bad one. It divides the batch around the
// bad lines, so the cost of a bad line does not depend on their number.
func (l *loader) sendParts(ctx context.Context, b *batch) error {
	const parts = 8
	for _, p := range b.parts(parts) {
		if err := l.send(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether the server found a fault in a request. It has applied nothing then.
func refused(err error) bool {
	return errors.Is(err, client.ErrInvalid)
}

// failed returns the error of a batch that failed for another reason than a bad line.
func (l *loader) failed(b *batch, err error) error {
	var answer *client.Error
	if errors.As(err, &answer) && answer.Code == "unknown_column_family" {
		err = fmt.Errorf("%w: create it first, or say --create-families", err)
	}
	if line := l.named(b, err); line != nil {
		return line
	}
	return fmt.Errorf("%s: lines %d to %d may not be written: %w", l.o.Name, b.lines[0].first, b.lines[len(b.lines)-1].last, err)
}

// blame returns the line for which a batch was refused: the one that the server names, or all lines of the
// batch.
func (l *loader) blame(b *batch, err error) *LineError {
	if line := l.named(b, err); line != nil {
		return line
	}
	return &LineError{l.o.Name, b.lines[0].first, b.lines[len(b.lines)-1].last, err}
}

// named returns the line that the server names in an error, or nil. It removes places in the request from
// the message: the user has not seen the request.
func (l *loader) named(b *batch, err error) *LineError {
	var answer *client.Error
	if !errors.As(err, &answer) {
		return nil
	}
	i, rest, ok := itemOf(answer.At)
	if !ok || i >= len(b.lines) {
		return nil
	}
	answer.At, answer.Message = rest, bytePlace.ReplaceAllString(answer.Message, "")
	if field := l.field(b, i, rest); field != "" {
		err = fmt.Errorf("field %q: %w", field, err)
	}
	return &LineError{l.o.Name, b.lines[i].first, b.lines[i].last, err}
}

// field returns what the input calls a place in a line, "" for nothing.
func (l *loader) field(b *batch, line int, place string) string {
	cell, _, ok := indexIn("cells", place)
	if !ok {
		return ""
	}
	var item struct {
		Cells []struct {
			Key string `json:"column_key"`
		}
	}
	// A column key in base64 is no string: no field has such a column.
	_ = json.Unmarshal(b.body[b.lines[line].start:b.lines[line].end], &item)
	if cell >= len(item.Cells) {
		return ""
	}
	return l.in.Field(item.Cells[cell].Key)
}

// bytePlace is an offset in a server's message.
var bytePlace = regexp.MustCompile(` at byte [0-9]+`)

// itemOf splits a place such as "items[3].cells[0]" into 3 and "cells[0]".
func itemOf(at string) (item int, rest string, ok bool) { return indexIn("items", at) }

// indexIn splits a place that begins in a list into the index and what is behind it.
func indexIn(list, at string) (index int, rest string, ok bool) {
	digits, ok := strings.CutPrefix(at, list+"[")
	if !ok {
		return 0, "", false
	}
	digits, rest, ok = strings.Cut(digits, "]")
	index, err := strconv.Atoi(digits)
	return index, strings.TrimPrefix(rest, "."), ok && err == nil && index >= 0
}
