package server

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/colonnade-db/colonnade/widecol"
)

// Checkpoints are for backups: see package backup. They have all that a store holds, so they need a token of scope admin
// for all tables.

type checkpointRequest struct{ tables []string }

var checkpointFields = fields[checkpointRequest]{
	{"tables", optional, to(nonEmpty(listOf(text)), func(r *checkpointRequest) *[]string { return &r.tables })},
}

var createCheckpointOperation = operation{
	does: "Makes a checkpoint: files that are a copy of the store, or of some tables, as of one moment.",
	body: checkpointFields.schema(), without: true,
	answer: answer{status: http.StatusCreated, result: objectOf(schema{
		"id": textSchema, "store": textSchema, "path": textSchema,
		"timeline": textSchema, "sequence": countSchema, "time": countSchema,
		"tables": listSchema(objectOf(schema{"name": textSchema, "partitions": listSchema(countSchema)})),
		"files":  listSchema(objectOf(schema{"name": textSchema, "size": countSchema, "xxh64": textSchema})),
	})},
	refuses: []int{http.StatusConflict, http.StatusNotFound},
}

// createCheckpoint is POST /v1/checkpoint.
func (s *Server) createCheckpoint(x *requestContext) error {
	var r checkpointRequest
	if err := x.decode(true, func(d *decoder) { checkpointFields.read(d, &r) }); err != nil {
		return err
	}
	if s.checkpoints.store == nil {
		return refuse(http.StatusConflict, "no_checkpoints", atPath, "the store of this server makes no checkpoints")
	}
	if err := s.checkpoints.begin(); err != nil {
		return err
	}
	c, err := s.checkpoints.store.Checkpoint(x.ctx(), r.tables)
	if err != nil {
		s.checkpoints.giveUp()
		return placed(err, func(code string, _ int) string {
			if code == "unknown_table" {
				return "tables"
			}
			return atBody
		})
	}
	s.checkpoints.add(c)
	x.begin(http.StatusCreated)
	return x.appendCheckpoint(&c)
}

func (x *requestContext) appendCheckpoint(c *widecol.Checkpoint) error {
	x.out = appendString(append(x.out, `{"id":`...), c.ID)
	x.out = appendString(append(x.out, `,"store":`...), c.Store)
	x.out = appendString(append(x.out, `,"path":`...), c.Path)
	x.out = appendString(append(x.out, `,"timeline":`...), c.Timeline)
	x.out = appendField(x.out, `,"sequence":`, int64(c.Sequence))
	x.out = appendField(x.out, `,"time":`, c.Time)
	x.out = append(x.out, `,"tables":[`...)
	for i, t := range c.Tables {
		x.comma(i)
		x.out = append(appendString(append(x.out, `{"name":`...), t.Name), `,"partitions":[`...)
		for j, id := range t.Partitions {
			x.comma(j)
			x.out = strconv.AppendUint(x.out, id, 10)
		}
		x.out = append(x.out, "]}"...)
	}
	x.out = append(x.out, `],"files":[`...)
	for i, f := range c.Files {
		x.comma(i)
		x.out = appendString(append(x.out, `{"name":`...), f.Name)
		x.out = appendField(x.out, `,"size":`, f.Size)
		x.out = fmt.Appendf(x.out, `,"xxh64":"%016x"}`, f.Checksum)
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
	x.out = append(x.out, "]}"...)
	return x.finish("Checkpoint created successfully")
}

var listCheckpointsOperation = operation{
	does: "Lists the checkpoints, the newest first, and when each goes.",
	answer: answer{status: http.StatusOK, result: objectOf(schema{"checkpoints": listSchema(objectOf(schema{
		"id": textSchema, "path": textSchema, "time": countSchema, "tables": listSchema(textSchema),
		"file_count": countSchema, "bytes": countSchema, "expires": orNull(countSchema),
	}))})},
}

// listCheckpoints is GET /v1/checkpoint.
func (s *Server) listCheckpoints(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	x.begin(http.StatusOK)
	x.out = append(x.out, `{"checkpoints":[`...)
	for i, c := range s.checkpoints.list() {
		x.comma(i)
		x.out = appendString(append(x.out, `{"id":`...), c.ID)
		x.out = appendString(append(x.out, `,"path":`...), c.Path)
		x.out = appendField(x.out, `,"time":`, c.Time)
		x.out = append(x.out, `,"tables":[`...)
		for j, t := range c.Tables {
			x.comma(j)
			x.out = appendString(x.out, t.Name)
		}
		x.out = appendField(x.out, `],"file_count":`, int64(len(c.Files)))
		size := int64(0)
		for _, f := range c.Files {
			size += f.Size
		}
		x.out = appendField(x.out, `,"bytes":`, size)
		x.out = append(x.out, `,"expires":`...)
		x.out = append(appendSetting(x.out, c.expires), '}')
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
	x.out = append(x.out, "]}"...)
	return x.finish("Checkpoints retrieved successfully")
}

var checkpointFileOperation = operation{
	does:    "Reads a file of a checkpoint. The answer is its bytes.",
	answer:  answer{status: http.StatusOK, texts: []string{bytesType}},
	refuses: []int{http.StatusNotFound},
}

// checkpointFile is GET /v1/checkpoint/{checkpoint}/file/{file}.
func (s *Server) checkpointFile(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	f, done, err := s.checkpoints.read(x.checkpoint, x.file)
	if err != nil {
		return err
	}
	defer done()
	in, err := s.checkpoints.store.OpenCheckpoint(x.checkpoint, f.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	x.status, x.asBytes, x.length = http.StatusOK, true, f.Size
	for at := int64(0); ; {
		n := min(f.Size-at, flushSize)
		x.out = append(x.out[:0], make([]byte, n)...)
		if _, err := in.ReadAt(x.out, at); err != nil && (err != io.EOF || n > 0) {
			return fmt.Errorf("read %s of checkpoint %s: %w", f.Name, x.checkpoint, err)
		}
		if at += n; at == f.Size {
			return x.send(s.opt.Now(), true)
		}
		if err := x.flush(); err != nil {
			return err
		}
	}
}

var removeCheckpointOperation = operation{
	does:   "Deletes a checkpoint.",
	answer: answer{status: http.StatusOK, result: nullSchema}, refuses: []int{http.StatusNotFound},
}

// removeCheckpoint is DELETE /v1/checkpoint/{checkpoint}.
func (s *Server) removeCheckpoint(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	if err := s.checkpoints.take(x.checkpoint); err != nil {
		return err
	}
	if err := s.checkpoints.store.RemoveCheckpoint(x.checkpoint); err != nil {
		return err
	}
	return x.reply(http.StatusOK, "Checkpoint deleted successfully")
}
