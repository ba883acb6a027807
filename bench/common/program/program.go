// Package program is program.h for Go: what every program of a table shares, its command line, its
// clock and the lines that it prints.
package program

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Options are those of program.h, by name, with their defaults.
type Options map[string]string

// Parse reads `--name value`; every program accepts every name. A bad one ends the program, exit 2.
func Parse() Options {
	o := Options{"--pes": "0", "--updates": "10000000", "--table": "1000", "--rows": "10000",
		"--row-nonzeros": "35", "--scale": "16", "--edge-factor": "16", "--rounds": "100000",
		"--samples": "5", "--warmup": "1", "--buffer": "0", "--depth": "0", "--graph": "er",
		"--what": "superstep", "--variant": "", "--transport": "threads", "--fibers": "1000",
		"--milliseconds": "300", "--order": "fifo", "--port": "0", "--period": "0"}
	for a := 1; a < len(os.Args); a += 2 {
		if _, known := o[os.Args[a]]; !known || a+1 == len(os.Args) {
			Bad(os.Args[a], "")
		}
		o[os.Args[a]] = os.Args[a+1]
	}
	return o
}

// Number is the value of an option that is one.
func (o Options) Number(name string) int {
	value, err := strconv.Atoi(o[name])
	if err != nil || value < 0 {
		Bad(name, o[name])
	}
	return value
}

// OneOf is the value of an option that must be one of these words.
func (o Options) OneOf(name string, words ...string) string {
	for _, word := range words {
		if o[name] == word {
			return word
		}
	}
	Bad(name, o[name])
	return ""
}

// ProcessorNow is the processor time of all threads so far, in seconds.
func ProcessorNow() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + 1e-6*float64(u.Utime.Usec+u.Stime.Usec)
}

// AllowDescriptors ends the program as absent where the system gives too few for so many connections.
func AllowDescriptors(connections int) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		panic(err)
	}
	files.Cur = files.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		panic(err)
	}
	if files.Cur < uint64(connections)+64 { // standard ones, pipes, epoll, the runtime's
		Absent(fmt.Sprintf("%d connections wanted, the system gives %d descriptors", connections, files.Cur))
	}
}

// Asking starts the program of that name beside this one, which asks a server: it waits for `begin`, and ends with
// status 0 if all answers were right.
func Asking(name string, options ...string) (command *exec.Cmd, begin io.WriteCloser) {
	self, err := os.Executable()
	if err != nil {
		Fail(err)
	}
	command = exec.Command(filepath.Join(filepath.Dir(self), name), options...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begin, err = command.StdinPipe()
	if err != nil {
		Fail(err)
	}
	if err = command.Start(); err != nil {
		Fail(err)
	}
	return command, begin
}

// Report prints one sample. `extra` is further JSON members, each with a comma before it, or "".
func Report(seconds float64, extra string) {
	fmt.Printf("{\"seconds\": %.9f, \"checked\": true%s}\n", seconds, extra)
}

// Wrong ends the program: a wrong answer.
func Wrong(what string, got, expected int64) {
	end(1, fmt.Sprintf("wrong answer: %s is %d, expected %d", what, got, expected))
}

// Absent ends the program: what the machine does not give.
func Absent(why string) { end(3, "absent: "+why) }

// Fail ends the program where the system did.
func Fail(err error) { end(1, err.Error()) }

// Bad ends the program: an option that is not known, or a value that is none.
func Bad(option, value string) { end(2, "bad option or value: "+option+" "+value) }

func end(status int, text string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(os.Args[0]), text)
	os.Exit(status)
}
