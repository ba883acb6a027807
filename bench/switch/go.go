// Question: what does it cost in Go to go from one goroutine to the next?
//
// The round robin of ring.hpp: --order fifo and random by runtime.Gosched, all woken once in that
// order; --order chain by a channel each, to which its predecessor in a random permutation sends.
//
// Invariants
//
//	G1  In a chain a goroutine finds its own turn, or the answer is wrong.
//	G2  Gosched promises no order (each 61st goroutine comes from the end of another queue), so in
//	    the other orders shares are checked: when the end is announced none is ahead by more than
//	    two laps and an eighth, and all leave after as many.
package main

import (
	"bench/common/program"
	"fmt"
	"runtime"
	"sync"
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
	took               []float64 // printed in the end: a goroutine that writes in between leaves its processor to others
	stage              int
	seconds, start     float64
	ordered            bool
}

const (
	starting = iota
	sizing
	measuring
)

func wrong(what string, got, expected uint64) { program.Wrong(what, int64(got), int64(expected)) }

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
	took := program.ProcessorNow() - r.start
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
			r.took = append(r.took, took)
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
	r.start = program.ProcessorNow()
}

// permutation is the order of turns: that of creation, or a random one, the same in every run.
func permutation(n int, random bool) []int {
	order := make([]int, n)
	if !random {
		for i := range order {
			order[i] = i
		}
		return order
	}
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
	options := program.Parse()
	how := options.OneOf("--order", "fifo", "random", "chain")
	runtime.GOMAXPROCS(1)
	n := options.Number("--fibers")
	r := &ring{n: uint64(n), end: uint64(n), laps: 1, samples: options.Number("--samples"),
		phasesLeft: options.Number("--warmup") + options.Number("--samples"),
		seconds:    1e-3 * float64(options.Number("--milliseconds")), ordered: how == "chain"}
	order := permutation(n, how != "fifo")
	// A channel each.
	tokens := make([]chan struct{}, n)
	for i := range tokens {
		tokens[i] = make(chan struct{}, 1)
	}

	var all sync.WaitGroup
	all.Add(n)
	if r.ordered {
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
		begun, together := 0, false
		for _, mine := range tokens {
			go func(mine chan struct{}) {
				defer all.Done()
				begun++
				<-mine
				for !together { // those that came first must not take laps alone
					runtime.Gosched()
				}
				for laps := uint64(0); r.take(0, laps); laps++ {
					runtime.Gosched()
				}
			}(mine)
		}
		for begun < n {
			runtime.Gosched()
		}
		for _, next := range order {
			tokens[next] <- struct{}{}
		}
		together = true
	}
	all.Wait()
	if r.turn != (r.lapsEach+1)*r.n {
		wrong("the sum of turns", r.turn, (r.lapsEach+1)*r.n)
	}
	for _, took := range r.took {
		program.Report(took, fmt.Sprintf(", \"switches\": %d", r.laps*r.n))
	}
}
