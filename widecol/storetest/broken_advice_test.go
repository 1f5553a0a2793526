package storetest

import "colonnade/widecol"

// adviceBugs are bugs of stores that give advice.
var adviceBugs = []bug{
	{"advice to move to a group that is not there", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Moves = []widecol.AdvisedMove{{Family: "a", Place: "nowhere", SavesBytes: 1}}
		}
	}},
	{"advice to move to where the family is", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Moves = []widecol.AdvisedMove{{Family: "a", Place: a.Families[0].Place, SavesBytes: 1}}
		}
	}},
	{"advice to move a family twice", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			m := widecol.AdvisedMove{Family: "a", Place: widecol.NewGroup, SavesBytes: 1}
			a.Moves = []widecol.AdvisedMove{m, m}
		}
	}},
	{"advice to move what saves nothing", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Moves = []widecol.AdvisedMove{{Family: "a", Place: widecol.NewGroup}}
		}
	}},
	{"advice lacks a family", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) { a.Families = a.Families[1:] }
	}},
	{"more is stepped over than read", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Queries = []widecol.QueryCosts{{Families: []string{"a"}, Queries: 1, BytesRead: 1, BytesOver: 2}}
		}
	}},
	{"queries of one family count as those of all", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Queries = []widecol.QueryCosts{{Families: []string{"a", "b", "c"}, Queries: 1, BytesRead: 1}}
		}
	}},
	{"advice counts from the time when it is asked for", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) { a.Since = b.env.Now() }
	}},
}
