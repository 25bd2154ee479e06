package determinism

import (
	"go/types"
	"slices"
	"strings"
)

const enginePath = "tendon"

// isEngine reports whether a package is part of the engine. Its own tests keep it deterministic, and tables say what rules must
// not call.
func isEngine(path string) bool {
	rest, ok := strings.CutPrefix(path, enginePath+"/")
	if !ok {
		return false
	}
	top, _, _ := strings.Cut(rest, "/")
	return top == "ecs" || top == "rollback" || top == "systems" || top == "net"
}

func isDonburi(path string) bool {
	return path == "github.com/yohamta/donburi" || strings.HasPrefix(path, "github.com/yohamta/donburi/")
}

// standard are the first elements of the paths of the standard library.
var standard = strings.Fields(`bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt
	go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv
	strings structs sync syscall testing text time unicode unique unsafe vendor weak`)

func isStandard(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return slices.Contains(standard, top)
}

// isEngineType reports whether t is a type of the engine, a pointer to one, or an instance of one.
func isEngineType(t types.Type) bool {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && isEngine(named.Obj().Pkg().Path())
}

// funcName returns the name of a function, with the type of its receiver: "Component.Read".
func funcName(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	t := types.Unalias(recv.Type())
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name() + "." + fn.Name()
	}
	return fn.Name()
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// worldChanges are the functions of package ecs that change a world.
var worldChanges = set(`World.Spawn World.Despawn World.Rand Component.Write Component.Put Component.Add Component.Remove
	Component.Get Component.Set Component.SetValue Resource.Write Event.Emit World.Step`)

// declarations are the functions of package ecs that number their results.
var declarations = set(`NewComponent NewResource NewInput NewEvent NewOwnEvent NewIrreversibleEvent NewOrder`)

// localImage are the functions of package ecs/image whose results or effects depend on the rewinds or on the role of a peer.
var localImage = set(`Image.Save Image.Restore Image.Load Image.Copy Image.ApplyDelta Image.Overlay Image.PutEntity Image.DropRow
	Image.PutResource Image.PutTick Image.PutInput Image.SetPredicted Image.SetPast Image.SetView Image.SetObserver Image.Observer
	Image.DerivedVersion Image.StateVersion Image.StructureVersion Image.PageBytes Image.Strays Image.Unordered
	Image.SetUnordered Image.Begin Image.End Image.Flush Image.SetPlayer Image.Plan Image.UndeclaredWrite`)

const (
	adviceTime   = "use w.Tick() divided by Game.TickRate"
	adviceRandom = "draw from w.Rand(), which is part of the state"
	adviceAsset  = "read it before the match into Game.Assets, or pass it in as an input or an order"
	adviceEvent  = "emit an ecs.Event and print it in Screen.Effect"
	adviceFixed  = "use ecs/fixed"
	adviceLock   = "a tick needs no lock: keep the data in a component, and list queries in System.Parallel to use several cores"
)

// packages are the packages of the standard library whose results follow from their arguments. A function of any other one is a
// fault. A name that ends in a slash stands for all packages below it.
var packages = set(`bufio bytes cmp compress/ container/ crypto/hmac crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512
	crypto/sha3 crypto/subtle embed encoding encoding/ errors fmt hash hash/ html image image/ index/ io iter maps math math/
	path reflect regexp regexp/ slices sort strconv strings structs text/ time unicode unicode/ unsafe`)

// functions are faults of packages that are otherwise fine. The key is path.function or path.Type.method.
var functions = map[string]fault{}

func init() {
	add := func(path, what, rule, advice, names string) {
		for _, name := range strings.Fields(names) {
			functions[path+"."+name] = fault{Rule: rule, What: path + "." + name + " " + what, Advice: advice}
		}
	}
	add("time", "reads the clock of the machine", "time", adviceTime, "Now Since Until")
	add("time", "waits for the clock of the machine", "time", adviceTime, "Sleep After AfterFunc Tick NewTimer NewTicker Timer.Reset Timer.Stop Ticker.Reset Ticker.Stop")
	add("time", "reads the time zone of the machine", "time", "use time.UTC", "Local LoadLocation Time.Local Unix UnixMilli UnixMicro")
	add("fmt", "prints again with each resimulation", "io", adviceEvent, "Print Printf Println")
	add("fmt", "reads a file of the machine", "io", adviceAsset, "Scan Scanf Scanln")
	add("math", "differs between targets", "floats", adviceFixed, `Acos Acosh Asin Asinh Atan Atan2 Atanh Cbrt Cos Cosh Erf Erfc Erfcinv
		Erfinv Exp Exp2 Expm1 Gamma Hypot J0 J1 Jn Lgamma Log Log10 Log1p Log2 Pow Pow10 Sin Sincos Sinh Tan Tanh Y0 Y1 Yn`)
	add("maps", "has no order", "maps", adviceMaps, "All Keys Values")
	add("reflect", "visits a map, which has no order", "maps", adviceMaps, "Value.MapRange Value.MapKeys Value.Seq Value.Seq2")
	add("reflect", "returns an address, which differs between peers", "io", "identify data by its ecs.Entity or its index",
		"Value.Pointer Value.UnsafePointer Value.UnsafeAddr")
	add("reflect", "has no order", "concurrency", adviceChannel, "Select Value.Send Value.Recv Value.TrySend Value.TryRecv")
}

// standardFault returns the fault of a use of the standard library, if it is one.
func standardFault(path, name string, exempt bool) (fault, bool) {
	if f, ok := functions[path+"."+name]; ok {
		return f, !exempt
	}
	full := path + "." + name
	switch {
	case path == "math/rand" || path == "math/rand/v2":
		if strings.Contains(name, ".") || name == "New" || name == "NewSource" || name == "NewPCG" || name == "NewChaCha8" || name == "NewZipf" {
			return fault{}, false
		}
		return fault{Rule: "random", What: full + " draws from a source of the process", Advice: adviceRandom}, true
	case path == "math/cmplx":
		return fault{Rule: "floats", What: full + " differs between targets", Advice: adviceFixed}, true
	case path == "hash/maphash":
		return fault{Rule: "random", What: full + " has another seed in each process", Advice: "use hash/crc32 or hash/fnv"}, true
	case allowed(path):
		return fault{}, false
	case path == "crypto/rand":
		return fault{Rule: "random", What: full + " draws from the machine", Advice: adviceRandom}, true
	case path == "log" || strings.HasPrefix(path, "log/"):
		return fault{Rule: "io", What: full + " logs again with each resimulation", Advice: adviceEvent}, true
	case path == "sync" || path == "sync/atomic" || path == "context":
		return fault{Rule: "concurrency", What: full + " is for goroutines, which have no order", Advice: adviceLock}, true
	case path == "runtime" || strings.HasPrefix(path, "runtime/"):
		return fault{Rule: "io", What: full + " depends on the machine", Advice: adviceAsset}, true
	case path == "os" || path == "net" || path == "syscall" || strings.HasPrefix(path, "os/") || strings.HasPrefix(path, "net/") || strings.HasPrefix(path, "path/"):
		return fault{Rule: "io", What: full + " depends on the machine", Advice: adviceAsset}, true
	}
	return fault{Rule: "io", What: full + " is not known to follow from its arguments alone", Advice: adviceAsset}, true
}

func allowed(path string) bool {
	if packages[path] {
		return true
	}
	for i, c := range path {
		if c == '/' && packages[path[:i+1]] {
			return true
		}
	}
	return false
}

// standardWrites returns the parameters through which a function of the standard library writes: its receiver, if it is a
// pointer, and the lists that it sorts or fills.
func standardWrites(path string, fn *types.Func) uint64 {
	switch path {
	case "slices":
		switch name := fn.Name(); {
		case name == "Sort", name == "SortFunc", name == "SortStableFunc", name == "Reverse", name == "Delete", name == "DeleteFunc",
			name == "Compact", name == "CompactFunc", name == "Insert", name == "Replace":
			return 2
		}
	case "sort":
		switch fn.Name() {
		case "Sort", "Stable", "Slice", "SliceStable", "Ints", "Strings", "Float64s":
			return 2
		}
	case "maps":
		if fn.Name() == "Copy" || fn.Name() == "DeleteFunc" || fn.Name() == "Insert" {
			return 2
		}
	case "container/heap":
		return 2
	case "encoding/binary":
		if strings.HasPrefix(fn.Name(), "Put") {
			return 2
		}
	case "encoding/json":
		if fn.Name() == "Unmarshal" {
			return 4
		}
	case "regexp", "text/template", "html/template", "time", "reflect", "embed", "sync", "sync/atomic": // the last two are faults anyway
		return 0
	case "math/big":
		if recv := fn.Signature().Recv(); recv == nil || fn.Signature().Results().Len() == 0 || !types.Identical(fn.Signature().Results().At(0).Type(), recv.Type()) {
			return 0
		}
	}
	recv := fn.Signature().Recv()
	if recv == nil || funcName(fn) == "Replacer.Replace" {
		return 0
	}
	if _, ok := recv.Type().(*types.Pointer); ok {
		return 1
	}
	if types.IsInterface(recv.Type()) && isStateful(funcName(fn)) {
		return 1
	}
	return 0
}

// isStateful reports whether a method of an interface changes the value.
func isStateful(name string) bool {
	_, method, _ := strings.Cut(name, ".")
	return slices.Contains([]string{"Write", "Read", "Reset", "Seed", "Uint64", "Int63", "ReadByte", "WriteByte"}, method)
}
