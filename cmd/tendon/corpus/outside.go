package corpus

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"runtime"
	"time"
	"unsafe"

	"tendon/cmd/tendon/corpus/lib"
	"tendon/ecs"
)

func clock(w *ecs.World) {
	store(w, int32(time.Now().UnixNano())) // want `time.Now reads the clock of the machine: use w.Tick\(\) divided by Game.TickRate`
}

func clockElsewhere(w *ecs.World) {
	store(w, int32(lib.Uptime())) // want `at lib/lib.go:9: time.Since reads the clock of the machine`
}

func dice(w *ecs.World) {
	store(w, rand.Int32()) // want `math/rand/v2.Int32 draws from a source of the process: draw from w.Rand\(\)`
}

var hashOf = maphash.MakeSeed()

func hashSeed(w *ecs.World) {
	store(w, int32(maphash.Comparable(hashOf, w.Tick()))) // want `hash/maphash.Comparable has another seed in each process: use hash/crc32`
}

var finished int32

func background(w *ecs.World) {
	done := make(chan bool) // want `a channel is state outside the world`
	go func() {             // want `a goroutine has no order: list the queries of the system in System.Parallel`
		finished++   // want `the package variable finished is not rewound`
		done <- true // want `a channel is state outside the world`
	}()
	<-done // want `a channel is state outside the world: keep the data in a component`
	store(w, finished)
}

func choice(w *ecs.World) {
	heads, tails := make(chan bool, 1), make(chan bool, 1) // want `a channel is state outside the world`
	heads <- true                                          // want `a channel is state outside the world: `
	tails <- true                                          // want `a channel is state outside the world`
	select {                                               // want `select has no order`
	case <-heads: // want `a channel is state outside the world`
		store(w, 1)
	case <-tails: // want `a channel is state outside the world`
		store(w, 2)
	}
}

var waiting = make(chan int32, 1<<16)

func queue(w *ecs.World) {
	waiting <- 1 // want `a channel is state outside the world`
	store(w, int32(len(waiting)))
}

func environment(w *ecs.World) {
	store(w, int32(len(os.Getenv("LANG")))) // want `os.Getenv depends on the machine: read it before the match into Game.Assets`
}

func print(*ecs.World) {
	fmt.Print("") // want `fmt.Print prints again with each resimulation: emit an ecs.Event`
}

func file(w *ecs.World) {
	text, _ := os.ReadFile("balance.json") // want `os.ReadFile depends on the machine`
	store(w, int32(len(text)))
}

func cores(w *ecs.World) {
	store(w, int32(runtime.NumCPU())) // want `runtime.NumCPU depends on the machine`
}

func address(w *ecs.World) {
	store(w, int32(uintptr(unsafe.Pointer(w))>>4)) // want `an address differs between peers: identify data by its ecs.Entity`
}

// shown is the view that was drawn last.
var shown *ecs.View

func view(w *ecs.World) {
	if shown != nil { // want `shown is a view: its values are interpolated and differ between peers: read the \*ecs.World of the system`
		store(w, int32(shown.Tick)) // want `shown is a view`
	}
}

func version(w *ecs.World) {
	store(w, int32(w.Image().StateVersion())) // want `Image.StateVersion depends on the rewinds of this peer: read the state`
}

// shop is a rule behind an interface in a variable, which tendonvet does not follow.
var shop lib.Rule = price{}

type price struct{}

func (price) Apply() int32 { return int32(time.Now().UnixNano()) }

func stored(w *ecs.World) { store(w, lib.Run(shop)) }

// hardcore is set by a flag of the program, so it can differ between peers.
var hardcore bool

func setting(w *ecs.World) {
	if hardcore {
		store(w, 1)
	}
}
