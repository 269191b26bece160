//! The address-free half of scheduling: which pieces leave in which order.
//!
//! In: a [`Problem`]. Out: an [`Order`]: the words cut into chunks, in the order in which the placement takes them, with
//! the starts they get while no two buffers share a bank.
//! 1. Independent of addresses, names and threads; equal problems give equal orders.
//! 2. Every word of every transfer is in exactly one chunk.
//! 3. The starts are a complete legal schedule of the phase as long as no clash touches the component.
//!
//! Stops: a phase that moved, or that occurs again, is not ordered again. Cost: about 10 us per piece and pass.

use rayon::prelude::*;

use super::banks::{Apart, Banks};
use super::bounds::{self, Bounds};
use super::jobs::{self, Component, Span};
use super::problem::Problem;
use super::search::{Effort, Search, Solution};
use super::traffic::Traffic;

/// Consecutive slots of one sender, in placement order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ComponentOrder {
    /// Spans of all chunks, chunk after chunk.
    pub(crate) spans: Vec<Span>,
    /// One past the last span of each chunk.
    pub(crate) ends: Vec<u32>,
    /// Start slot of each chunk where no bank is contested.
    pub(crate) starts: Vec<u32>,
    /// End of the last row then.
    pub(crate) horizon: u32,
}

impl ComponentOrder {
    pub(crate) fn of(solution: &Solution) -> Self {
        let mut order = Self { spans: Vec::new(), ends: Vec::new(), starts: Vec::new(), horizon: solution.horizon };
        for (spans, start) in solution.chunks() {
            order.spans.extend_from_slice(spans);
            order.ends.push(order.spans.len() as u32);
            order.starts.push(start);
        }
        order
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[Span]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.spans[begin as usize..end as usize])
    }
}

/// The order of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Order {
    /// One for each independent part of the phase, in tile order.
    pub(crate) components: Vec<ComponentOrder>,
    /// Bounds without clashes.
    pub bounds: Bounds,
}

impl Order {
    /// The horizon while no bank is contested: the provisional length of the phase in cycles.
    pub fn horizon(&self) -> u32 {
        self.components.iter().map(|c| c.horizon).max().unwrap_or(0)
    }
}

/// Orders a phase.
pub fn order(problem: &Problem, effort: Effort) -> Order {
    let traffic = Traffic::of(problem);
    let (solutions, bounds) = solve(&traffic, &Apart, effort);
    Order { components: solutions.iter().map(ComponentOrder::of).collect(), bounds }
}

/// Solves all components of a phase, in tile order.
pub(crate) fn solve(traffic: &Traffic, banks: &dyn Banks, effort: Effort) -> (Vec<Solution>, Bounds) {
    let components = jobs::components(traffic);
    let (tasks, bounds) = tasks(traffic, banks, &components);
    let solutions = tasks
        .par_iter()
        .map(|task| task.search(traffic, banks, bounds).run(task.share(effort, &tasks), None))
        .collect();
    (solutions, bounds)
}

/// A component with what its banks say.
pub(crate) struct Task<'a> {
    pub(crate) component: &'a Component,
    pub(crate) contested: Vec<u64>,
    weight: u64,
}

/// The components with their contested banks, and the bounds of the phase.
pub(crate) fn tasks<'a>(traffic: &Traffic, banks: &dyn Banks, components: &'a [Component]) -> (Vec<Task<'a>>, Bounds) {
    let list: Vec<(Task<'a>, Bounds)> = components
        .par_iter()
        .map(|component| {
            let contested = jobs::contested(traffic, banks, component);
            let bounds = bounds::bounds(traffic, banks, component, &contested);
            let weight = component.streams.iter().map(|s| s.transfers.len() as u64).sum();
            (Task { component, contested, weight }, bounds)
        })
        .collect();
    let bounds = list.iter().fold(Bounds::default(), |all, (_, one)| all.max(*one));
    (list.into_iter().map(|(task, _)| task).collect(), bounds)
}

impl Task<'_> {
    pub(crate) fn search<'b>(&'b self, traffic: &'b Traffic, banks: &'b dyn Banks, phase: Bounds) -> Search<'b> {
        // A component that ends before the others must is short enough.
        Search { traffic, banks, component: self.component, contested: &self.contested, bound: phase.best() }
    }

    /// The part of the effort that falls to this component.
    pub(crate) fn share(&self, effort: Effort, all: &[Task<'_>]) -> Effort {
        let total: u64 = all.iter().map(|task| task.weight).sum();
        Effort((u64::from(effort.0) * self.weight / total.max(1)) as u32)
    }
}
