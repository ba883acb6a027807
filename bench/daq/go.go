// daq in Go: a goroutine for each channel, on one processor.
package main

import (
	"bench/common/program"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const frameBytes, framesARead, deadline = 64, 16, 1_000_000

// monotonic is CLOCK_MONOTONIC, which the source stamps its frames with. Go's own clock starts elsewhere, at a distance
// that does not change.
func monotonic() uint64 { return uint64(time.Since(origin).Nanoseconds()) + originNs }

var origin, originNs = func() (time.Time, uint64) {
	var ts syscall.Timespec
	before := time.Now()
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0)
	return before.Add(time.Since(before) / 2), uint64(ts.Nano())
}()

type readings struct {
	frames int
	ages   []uint32
	left   atomic.Int64
	end    time.Time
}

func (all *readings) decode(some []byte, next *uint32) {
	now := monotonic()
	for at := 0; at < len(some); at += frameBytes {
		f := some[at : at+frameBytes]
		channel, number := binary.LittleEndian.Uint32(f), binary.LittleEndian.Uint32(f[4:])
		due := binary.LittleEndian.Uint64(f[8:])
		sum := uint64(channel)*0x9e3779b97f4a7c15 + uint64(number) + due
		for i := 16; i < 56; i += 8 {
			sum = sum*31 + binary.LittleEndian.Uint64(f[i:])
		}
		if sum != binary.LittleEndian.Uint64(f[56:]) {
			program.Wrong("a frame's sum", int64(sum), int64(binary.LittleEndian.Uint64(f[56:])))
		}
		if number != *next {
			program.Wrong("a frame's number", int64(number), int64(*next))
		}
		*next++
		var age uint64
		if now > due {
			age = min(now-due, 1<<32-1)
		}
		all.ages[int(channel)*all.frames+int(number)] = uint32(age)
	}
	if all.left.Add(-int64(len(some)/frameBytes)) == 0 {
		all.end = time.Now()
	}
}

func resident() int64 {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0
	}
	var kib int64
	for _, line := range strings.Split(string(text), "\n") {
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); n == 1 {
			break
		}
	}
	return kib * 1024
}

func sample(channels, frames, period int, atFirst int64, report bool) {
	all := readings{frames: frames}
	all.left.Store(int64(channels * frames))
	door, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		program.Fail(err)
	}
	from, begin := program.Asking("daq_source", "--port", fmt.Sprint(door.Addr().(*net.TCPAddr).Port),
		"--table", fmt.Sprint(channels), "--rounds", fmt.Sprint(frames), "--period", fmt.Sprint(period))
	var waiting atomic.Int64
	var readers sync.WaitGroup
	readers.Add(channels)
	for range channels {
		channel, err := door.Accept()
		if err != nil {
			program.Fail(err)
		}
		go func() {
			defer readers.Done()
			defer channel.Close()
			buffer := make([]byte, framesARead*frameBytes)
			have, next := 0, uint32(0)
			waiting.Add(1)
			for {
				count, err := channel.Read(buffer[have:])
				if err == io.EOF {
					return
				}
				if err != nil {
					program.Fail(err)
				}
				have += count
				if whole := have / frameBytes * frameBytes; whole > 0 {
					all.decode(buffer[:whole], &next)
					copy(buffer, buffer[whole:have])
					have -= whole
				}
			}
		}()
	}
	door.Close()
	for waiting.Load() < int64(channels) {
		runtime.Gosched()
	}
	debug.FreeOSMemory()                       // of the samples before
	all.ages = make([]uint32, channels*frames) // its pages come now, before the clock
	for i := range all.ages {
		all.ages[i] = 1
	}
	memory := resident() - int64(4*len(all.ages))
	start := time.Now()
	if _, err := begin.Write([]byte("g")); err != nil {
		program.Fail(err)
	}
	readers.Wait()
	if err := from.Wait(); err != nil {
		program.Wrong("the source's exit status", int64(from.ProcessState.ExitCode()), 0)
	}
	if !report {
		return
	}
	slices.Sort(all.ages)
	at := func(share float64) uint32 { return all.ages[int(share*float64(len(all.ages)-1))] }
	missed := 0
	for _, age := range all.ages {
		if age > deadline {
			missed++
		}
	}
	program.Report(all.end.Sub(start).Seconds(), fmt.Sprintf(`, "frames": %d, "resident_bytes": %d, "median_ns": %d, `+
		`"p99_ns": %d, "p999_ns": %d, "missed_share": %.6f`, len(all.ages), memory-atFirst, at(.5), at(.99), at(.999),
		float64(missed)/float64(len(all.ages))))
}

func main() {
	options := program.Parse()
	channels, frames := options.Number("--table"), options.Number("--rounds")
	program.AllowDescriptors(channels)
	runtime.GOMAXPROCS(1)
	atFirst := resident()
	samples := options.Number("--samples")
	for i := -options.Number("--warmup"); i < samples; i++ {
		sample(channels, frames, options.Number("--period"), atFirst, i >= 0)
	}
}
