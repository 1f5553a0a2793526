package main

import (
	"slices"
)

// results are the figures of all runs, by table, engine and figure.
type results map[string]map[string]map[string][]float64

// add adds the figures of a session.
func (r results) add(table, engine string, figures map[string]float64) {
	if r[table] == nil {
		r[table] = make(map[string]map[string][]float64)
	}
	if r[table][engine] == nil {
		r[table][engine] = make(map[string][]float64)
	}
	for name, value := range figures {
		r[table][engine][name] = append(r[table][engine][name], value)
	}
}

// median returns the median of a figure over the runs, and by which fraction of it runs deviate at
// most.
func (r results) median(table, engine, figure string) (value, spread float64, ok bool) {
	list := slices.Sorted(slices.Values(r[table][engine][figure]))
	if len(list) == 0 {
		return 0, 0, false
	}
	value = middle(list)
	if value != 0 {
		spread = max(list[len(list)-1]-value, value-list[0]) / value
	}
	return value, spread, true
}

// middle returns the median of a sorted list that is not empty.
func middle(list []float64) float64 {
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}
