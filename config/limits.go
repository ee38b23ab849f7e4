package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits are sbx.limits. nil is what the file does not say; 0 is no limit.
type Limits struct {
	CPUTime    *time.Duration `json:"cpu_time_ns,omitempty"`
	Memory     *int64         `json:"memory,omitempty"` // sizes are in bytes
	Processes  *int           `json:"processes,omitempty"`
	FileSize   *int64         `json:"file_size,omitempty"`
	Disk       *int64         `json:"disk,omitempty"`
	TempSize   *int64         `json:"temp_size,omitempty"`
	Output     *int64         `json:"output,omitempty"`
	OutputOver string         `json:"output_over,omitempty"` // "truncate", "kill", or ""
}

// MostProcesses is the largest number that a kernel can count to (pid_max).
const MostProcesses = 1 << 22

// smallestMemory is what no program can do without: less is a slip of the unit.
const smallestMemory = 1 << 20

var (
	errSize      = errors.New("want a size like 512m or 2g")
	errMemory    = errors.New("less than 1m: want a size like 512m or 2g")
	errProcesses = fmt.Errorf("want a number from 1 to %d, or 0 for no limit", MostProcesses)
)

// Size reads a number of bytes: 1048576, 512k, 64m, 1.5g, 2GiB. Units are powers
// of 1024 however they are written. The number is not negative.
func Size(text string) (int64, error) {
	digits := strings.TrimRight(text, "bBiIkKmMgGtT")
	unit := strings.ToLower(text[len(digits):])
	shift := -1
	for i, letter := range [...]string{"", "k", "m", "g", "t"} {
		if unit == letter || unit == letter+"b" || letter != "" && unit == letter+"ib" {
			shift = 10 * i
		}
	}
	if shift < 0 || digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, errSize
	}
	n, err := strconv.ParseFloat(digits, 64)
	n *= float64(int64(1) << shift)
	if err != nil || n >= math.MaxInt64/2 || n > 0 && n < 1 {
		return 0, errSize
	}
	return int64(n), nil
}

// MemorySize is Size for a limit of memory.
func MemorySize(text string) (int64, error) {
	n, err := Size(text)
	if err == nil && n > 0 && n < smallestMemory {
		return 0, errMemory
	}
	return n, err
}

// Processes reads a number of processes.
func Processes(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > MostProcesses {
		return 0, errProcesses
	}
	return int(n), nil
}

func limitKeys() []string {
	return []string{"cpu_time", "memory", "processes", "file_size", "disk", "temp_size", "output", "output_over"}
}

// limits reads the object that stands under a key.
func (d *decoder) limits(prefix string, value any) (l Limits) {
	o, ok := d.object(prefix, value)
	if !ok {
		return l
	}
	// Of a key that is not understood nobody can say what it was to limit.
	for _, name := range d.each(prefix+".", o, limitKeys(), func(key string, value any) bool {
		full := prefix + "." + key
		switch key {
		case "cpu_time":
			l.CPUTime = d.duration(full, value)
		case "memory":
			l.Memory = d.size(full, value, MemorySize)
		case "processes":
			l.Processes = d.processes(full, value)
		case "file_size":
			l.FileSize = d.size(full, value, Size)
		case "disk":
			l.Disk = d.size(full, value, Size)
		case "temp_size":
			l.TempSize = d.size(full, value, Size)
		case "output":
			l.Output = d.size(full, value, Size)
		case "output_over":
			l.OutputOver = d.outputOver(full, value)
		default:
			return false
		}
		return true
	}) {
		d.fail(name, "no such limit; there are %s", strings.Join(limitKeys(), ", "))
	}
	return l
}

func (d *decoder) size(key string, value any, read func(string) (int64, error)) *int64 {
	if value == nil {
		return nil
	}
	text, ok := value.(string)
	if number, is := value.(json.Number); is {
		text, ok = string(number), true
	}
	n, err := read(text)
	if !ok || err != nil {
		if err == nil {
			err = errSize
		}
		d.fail(key, "%v, have %s", err, describe(value))
		return nil
	}
	return &n
}

func (d *decoder) processes(key string, value any) *int {
	if value == nil {
		return nil
	}
	number, ok := value.(json.Number)
	n, err := Processes(string(number))
	if !ok || err != nil {
		d.fail(key, "%v, have %s", errProcesses, describe(value))
		return nil
	}
	return &n
}

func (d *decoder) outputOver(key string, value any) string {
	s, ok := value.(string)
	if value != nil && (!ok || s != "truncate" && s != "kill") {
		d.fail(key, `want "truncate" or "kill", have %s`, describe(value))
	}
	return s
}
