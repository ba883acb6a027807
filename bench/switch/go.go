// Question: what does it cost in Go to go from one goroutine to the next?
//
// The round robin of ring.hpp: --order fifo by runtime.Gosched, --order random by a channel each,
// to which its predecessor in a random permutation sends.
//
// Invariants
//
//	G1  In random order a goroutine finds its own turn, or the answer is wrong.
//	G2  Gosched promises no order (each 61st goroutine comes from the end of another queue), so in
//	    fifo order shares are checked: when the end is announced none is ahead by more than two
//	    laps and an eighth, and all leave after as many.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// Nothing is interrupted amid a count; every loop below gives way by itself.
//
//go:debug asyncpreemptoff=1

const longEnoughToTime = 0.02 // seconds

type ring struct {
	turn, n, end, laps uint64
	lapsEach           uint64 // when all leave; 0: not known yet
	phasesLeft         int
	samples            int
	stage              int
	seconds, start     float64
	ordered            bool
}

const (
	starting = iota
	sizing
	measuring
)

func wrong(what string, got, expected uint64) {
	fmt.Fprintf(os.Stderr, "switch_go: wrong answer: %s is %d, expected %d\n", what, got, expected)
	os.Exit(1)
}

func processorNow() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + 1e-6*float64(u.Utime.Usec+u.Stime.Usec)
}

// take takes a turn of the goroutine at this position, which has taken `laps` before. False: leave.
func (r *ring) take(position, laps uint64) bool {
	if r.ordered && r.turn != position+laps*r.n {
		wrong("a turn", r.turn, position+laps*r.n)
	}
	if r.turn >= r.end {
		if r.lapsEach == 0 {
			r.afterPhase()
		}
		if r.lapsEach != 0 && laps >= r.lapsEach {
			if laps > r.lapsEach {
				wrong("laps ahead of all", laps, r.lapsEach)
			}
			r.turn++ // leaving is one too
			return false
		}
	}
	r.turn++
	return true
}

func (r *ring) afterPhase() {
	took := processorNow() - r.start
	switch r.stage {
	case starting:
		r.stage = sizing
	case sizing:
		if took < longEnoughToTime {
			r.laps *= 2
			break
		}
		r.laps = 1 + uint64(float64(r.laps)*r.seconds/took)
		r.stage = measuring
	case measuring:
		if r.phasesLeft <= r.samples {
			fmt.Printf("{\"seconds\": %.9f, \"checked\": true, \"switches\": %d}\n", took, r.laps*r.n)
		}
		r.phasesLeft--
		if r.phasesLeft == 0 {
			r.lapsEach = r.turn / r.n
			if !r.ordered {
				r.lapsEach += 2 + r.lapsEach/8
			}
			return
		}
	}
	r.end = r.turn + r.laps*r.n
	r.start = processorNow()
}

// permutation is the order of turns: a random one, the same in every run.
func permutation(n int) []int {
	order := make([]int, n)
	state := uint64(20240229)
	for i := range order {
		// Source: Steele, Lea, Flood, OOPSLA 2014, doi:10.1145/2660193.2660195.
		state += 0x9e3779b97f4a7c15
		x := state
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		j := int((x ^ x>>31) % uint64(i+1))
		order[i] = order[j]
		order[j] = i
	}
	return order
}

func main() {
	options := map[string]string{"--fibers": "1000", "--order": "fifo", "--milliseconds": "300",
		"--samples": "5", "--warmup": "1"}
	for a := 1; a < len(os.Args); a += 2 {
		if _, known := options[os.Args[a]]; !known || a+1 == len(os.Args) {
			fmt.Fprintf(os.Stderr, "switch_go: bad option or value: %s\n", os.Args[a])
			os.Exit(2)
		}
		options[os.Args[a]] = os.Args[a+1]
	}
	number := func(name string) int {
		value, err := strconv.Atoi(options[name])
		if err != nil || value < 0 {
			fmt.Fprintf(os.Stderr, "switch_go: bad option or value: %s %s\n", name, options[name])
			os.Exit(2)
		}
		return value
	}
	runtime.GOMAXPROCS(1)
	n := number("--fibers")
	r := &ring{n: uint64(n), end: uint64(n), laps: 1, samples: number("--samples"),
		phasesLeft: number("--warmup") + number("--samples"),
		seconds:    1e-3 * float64(number("--milliseconds")), ordered: options["--order"] == "random"}

	var all sync.WaitGroup
	all.Add(n)
	if r.ordered {
		tokens := make([]chan struct{}, n)
		for i := range tokens {
			tokens[i] = make(chan struct{}, 1)
		}
		order := permutation(n)
		for position, me := range order {
			mine, next := tokens[me], tokens[order[(position+1)%n]]
			go func(position uint64) {
				defer all.Done()
				for laps := uint64(0); ; laps++ {
					<-mine
					goOn := r.take(position, laps)
					next <- struct{}{}
					if !goOn {
						return
					}
				}
			}(uint64(position))
		}
		tokens[order[0]] <- struct{}{}
	} else {
		begun, together := 0, make(chan struct{})
		for i := 0; i < n; i++ {
			go func() {
				defer all.Done()
				begun++
				if begun == n {
					close(together)
				}
				<-together // those that came first must not take laps alone
				for laps := uint64(0); r.take(0, laps); laps++ {
					runtime.Gosched()
				}
			}()
		}
	}
	all.Wait()
	if r.turn != (r.lapsEach+1)*r.n {
		wrong("the sum of turns", r.turn, (r.lapsEach+1)*r.n)
	}
}
