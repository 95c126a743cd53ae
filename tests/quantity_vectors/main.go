// Prints test vectors of k8s.io/apimachinery's resource.Quantity, one a line, tab-separated:
//
//	text  class  canonical  sign  value  milli  compare-with-next  sum-with-next
//
// class: ok; error (refused there); over (accepted there, but beyond ±(2^63−1), or cut to it); nodigits (accepted there
// as 0 though it has no digit). Fields that do not apply are "-": value and milli where they do not fit an int64
// and where the module is wrong about a negative amount (it rounds some up, and wraps where 10^9 times it does not fit),
// compare and sum where either neighbour is not ok.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"strings"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

var suffixes = []string{"", "", "n", "u", "m", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Mi", "Gi", "Gi", "Ti", "Pi", "Ei"}

func digits(r *rand.Rand, most int) string {
	var b strings.Builder
	for n := r.Intn(most + 1); n > 0; n-- {
		switch r.Intn(6) {
		case 0:
			b.WriteByte('0')
		case 1:
			b.WriteByte('9')
		default:
			b.WriteByte(byte('0' + r.Intn(10)))
		}
	}
	return b.String()
}

// A number close to a power of two, where fast and exact paths meet.
func edge(r *rand.Rand) string {
	v := new(big.Int).Lsh(big.NewInt(1), uint(r.Intn(66)))
	return v.Add(v, big.NewInt(int64(r.Intn(5)-2))).String()
}

func text(r *rand.Rand) string {
	var b strings.Builder
	switch r.Intn(8) {
	case 0:
		b.WriteByte('-')
	case 1:
		b.WriteByte('+')
	}
	if r.Intn(6) == 0 {
		b.WriteString(strings.TrimPrefix(edge(r), "-"))
	} else {
		b.WriteString(digits(r, []int{3, 6, 12, 20}[r.Intn(4)]))
	}
	if r.Intn(3) == 0 {
		b.WriteByte('.')
		b.WriteString(digits(r, []int{2, 3, 9, 14}[r.Intn(4)]))
	}
	switch n := r.Intn(40); {
	case n == 0:
		b.WriteString([]string{"K", "ki", "mi", "e", "Ke", "E1k", "i", " ", "%", "1e", "GiB", "e+", "e-", "-"}[r.Intn(14)])
	case n < 8:
		fmt.Fprintf(&b, "%s%d", []string{"e", "E", "e+", "E+", "e-", "E-"}[r.Intn(6)], r.Intn(24))
	default:
		b.WriteString(suffixes[r.Intn(len(suffixes))])
	}
	return b.String()
}

var limit = inf.NewDec(1<<63-1, 0)

func dec(q resource.Quantity) *inf.Dec {
	copied := q.DeepCopy()
	return copied.AsDec()
}

// Whether the text's value lies beyond ±(2^63−1). Binary values are cut there by the module, so they are read again.
func over(s string, q resource.Quantity) bool {
	d := new(inf.Dec).Abs(dec(q))
	if c := d.Cmp(limit); c != 0 || q.Format != resource.BinarySI {
		return c > 0
	}
	power := uint(10 * (strings.IndexByte("KMGTPE", s[len(s)-2]) + 1))
	exact, _ := new(inf.Dec).SetString(strings.TrimRight(s, "KMGTPEi"))
	exact.Mul(exact, inf.NewDecBig(new(big.Int).Lsh(big.NewInt(1), power), 0))
	return exact.Abs(exact).Cmp(limit) > 0
}

func scaled(q resource.Quantity, scale inf.Scale) string {
	exact := new(inf.Dec).Round(dec(q), scale, inf.RoundUp).UnscaledBig()
	answer := q.Value()
	if scale == 3 {
		answer = q.MilliValue()
	}
	if !exact.IsInt64() || (q.Sign() < 0 && exact.Int64() != answer) {
		return "-"
	}
	return fmt.Sprint(answer)
}

// CanonicalizeBytes and not String: the module keeps some texts as they were written ("+5", "1.500").
func canonical(q resource.Quantity) string {
	number, suffix := q.CanonicalizeBytes(nil)
	return string(number) + string(suffix)
}

func class(s string) (string, resource.Quantity) {
	q, err := resource.ParseQuantity(s)
	switch {
	case err != nil:
		return "error", q
	case !strings.ContainsAny(strings.SplitN(strings.ToLower(s), "e", 2)[0], "0123456789"):
		return "nodigits", q
	case over(s, q):
		return "over", q
	}
	return "ok", q
}

func main() {
	count := flag.Int("n", 15000, "vectors")
	seed := flag.Int64("seed", 1, "seed")
	flag.Parse()
	r := rand.New(rand.NewSource(*seed))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	next := text(r)
	for i := 0; i < *count; i++ {
		s := next
		next = text(r)
		if i%9 == 0 { // neighbours of one value in two spellings, so that comparisons meet equality
			if q, err := resource.ParseQuantity(s); err == nil {
				next = canonical(q)
			}
		}
		kind, q := class(s)
		if kind != "ok" {
			fmt.Fprintf(out, "%s\t%s\t-\t-\t-\t-\t-\t-\n", s, kind)
			continue
		}
		compare, sum := "-", "-"
		if kind, n := class(next); kind == "ok" {
			compare = fmt.Sprint(q.Cmp(n))
			total := q.DeepCopy()
			total.Add(n)
			sum = canonical(total)
		}
		fmt.Fprintf(out, "%s\tok\t%s\t%d\t%s\t%s\t%s\t%s\n", s, canonical(q), q.Sign(), scaled(q, 0), scaled(q, 3), compare, sum)
	}
}
