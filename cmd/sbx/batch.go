package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/sbx-run/sbx"
)

// batchLine is one line of the input.
type batchLine struct {
	ID  json.RawMessage `json:"id"`
	Cmd *string         `json:"cmd"`
}

// checkBatch answers each line of standard input with a line, in order. A line
// that cannot be read is answered as the worst case, told on standard error,
// and makes the exit status 2 in the end: no line is lost or taken as harmless.
func checkBatch(s *streams, c *checkCall) int {
	debug.SetGCPercent(400) // what a line leaves behind is small; a collection is not
	in := bufio.NewReaderSize(s.in, 1<<16)
	out := bufio.NewWriterSize(s.out, 1<<16)
	code := exitOK
	var line, answer []byte
	for number := 1; ; number++ {
		if in.Buffered() == 0 {
			out.Flush() // the next read may wait for somebody who waits for us
		}
		var err error
		line, err = readLine(in, line[:0])
		if len(bytes.TrimSpace(line)) > 0 {
			var fault error
			answer, fault = answerLine(answer[:0], line, c)
			if fault != nil {
				s.say("error", fmt.Sprintf("line %d: %v", number, fault))
				code = exitUsage
			}
			if _, werr := out.Write(answer); werr != nil {
				s.say("error", fmt.Sprintf("write line %d: %v", number, werr))
				return exitUsage
			}
		}
		if err != nil {
			if err != io.EOF {
				s.say("error", fmt.Sprintf("read line %d: %v", number, err))
				code = exitUsage
			}
			break
		}
	}
	if err := out.Flush(); err != nil {
		s.say("error", "write: "+err.Error())
		return exitUsage
	}
	return code
}

// readLine appends a line of any length to buf, without its end.
func readLine(in *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		piece, err := in.ReadSlice('\n')
		buf = append(buf, piece...)
		if err != bufio.ErrBufferFull {
			return bytes.TrimSuffix(buf, []byte{'\n'}), err
		}
	}
}

// answerLine appends the answer to one line.
func answerLine(answer, line []byte, c *checkCall) ([]byte, error) {
	var in batchLine
	if err := json.Unmarshal(line, &in); err != nil || in.Cmd == nil {
		if err == nil {
			err = errors.New(`no "cmd"`)
		}
		return appendAnswer(answer, in.ID, []string{"unknown"}, "block"), err
	}
	req := c.request
	req.Text = *in.Cmd
	report := sbx.CheckAllowing(req, c.where, c.allow)
	verdict := "allow"
	if report.Blocked() {
		verdict = "block"
	}
	return appendAnswer(answer, in.ID, report.Tags.Names(), verdict), nil
}

// appendAnswer writes the object by hand: tags and verdict need no escapes, and
// the id is what the caller sent.
func appendAnswer(b []byte, id json.RawMessage, tags []string, verdict string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b = append(b, `{"id":`...)
	b = append(b, id...)
	b = append(b, `,"tags":[`...)
	for i, tag := range tags {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), tag...), '"')
	}
	return append(append(append(b, `],"guard":"`...), verdict...), "\"}\n"...)
}
