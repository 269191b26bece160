//! Streams, components and jobs: what the placement places.
//!
//! In: [`Traffic`]. Out: streams (all transfers of one sender to one receiver set, in destination order), components
//! (tiles that any transfer or tile joins), and for a chosen grain the jobs of a component.
//! 1. A job occupies consecutive slots: its spans follow each other without a gap, in stream order.
//! 2. The jobs of a component cover every word of its transfers exactly once, whatever the grain.
//! 3. Messages inside a job are at most [`LONGEST_MESSAGE`] words (`exchange.md` 3.3).
//! 4. A job can always be placed on idle tiles: none of its own control events stand in each other's way.
//! 5. With banks, a job that touches a bank which its tile both sends from and receives into changes its set of such
//!    banks only inside [`SHORT_BANK_PART`] words.

use ipuc_device::fabric::topology::{mux_to_memory, physical, route_time};
use ipuc_device::memory::TileId;

use super::banks::Banks;
use super::traffic::{Endpoint, Traffic};

/// Words of the longest message (`exchange.md` 3.3).
pub const LONGEST_MESSAGE: u32 = 4148;
/// Events after the last write before the receiving row may end, and before a send may read the same bank.
pub(crate) const RECEIVE_GUARD: u32 = 5;
/// Shortest send window as memory sees it.
pub(crate) const SHORTEST_SEND: u32 = 6;
/// A job is not cut at a change of banks before it has this many words.
const SHORT_BANK_PART: u32 = 32;

/// Consecutive words of one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// Index of the transfer in the problem.
    pub transfer: u32,
    /// First word.
    pub first_word: u32,
    /// Words.
    pub words: u32,
}

/// How streams are cut into jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// One job a stream.
    Whole,
    /// Equal parts of about this many words.
    Words(u32),
    /// One job a message (contiguous at the sender and all receivers).
    Message,
}

/// All transfers from one sender to one receiver set.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// Transfers in destination order.
    pub(crate) transfers: Vec<u32>,
    pub(crate) words: u32,
}

/// Streams that share tiles with each other and with no other stream.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub(crate) streams: Vec<Stream>,
    /// Sorted; a tile's position is its local number.
    pub(crate) tiles: Vec<TileId>,
}

impl Component {
    pub(crate) fn local(&self, tile: TileId) -> u32 {
        self.tiles.binary_search(&tile).expect("invariant: a component lists all its tiles") as u32
    }
}

/// One receiver of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    /// Local tile.
    pub(crate) tile: u32,
    /// Route time.
    pub(crate) tau: i32,
    /// From the mux to the first write.
    pub(crate) to_memory: i32,
    /// Contested banks written.
    pub(crate) banks: u64,
}

/// What is placed as one.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Local tile of the sender.
    pub(crate) source: u32,
    pub(crate) words: u32,
    /// Contested banks read.
    pub(crate) banks: u64,
    /// Earliest start: no mux event before event 1.
    pub(crate) head: u32,
    /// From the end of the send to the end of the last receiver's row.
    pub(crate) tail: u32,
    receivers: (u32, u32),
    starts: (u32, u32),
    pointers: (u32, u32),
    spans: (u32, u32),
}

/// The jobs of one component at one grain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) list: Vec<Job>,
    receivers: Vec<Receiver>,
    offsets: Vec<u32>,
    spans: Vec<Span>,
    /// Per local tile: the banks that it both sends from and receives into.
    pub(crate) contested: Vec<u64>,
}

impl Jobs {
    pub(crate) fn receivers(&self, job: &Job) -> &[Receiver] {
        &self.receivers[job.receivers.0 as usize..job.receivers.1 as usize]
    }
    pub(crate) fn endpoints(&self) -> usize {
        self.receivers.len()
    }
    /// Word offsets at which a message begins.
    pub(crate) fn starts(&self, job: &Job) -> &[u32] {
        &self.offsets[job.starts.0 as usize..job.starts.1 as usize]
    }
    /// Word offsets at which a receive pointer is set.
    pub(crate) fn pointers(&self, job: &Job) -> &[u32] {
        &self.offsets[job.pointers.0 as usize..job.pointers.1 as usize]
    }
    pub(crate) fn spans(&self, job: &Job) -> &[Span] {
        &self.spans[job.spans.0 as usize..job.spans.1 as usize]
    }
}

/// Groups the transfers of a phase into streams and those into components, all in a canonical order.
pub(crate) fn components(traffic: &Traffic) -> Vec<Component> {
    let mut sorted: Vec<u32> = (0..traffic.len() as u32).filter(|&t| traffic.words(t) > 0).collect();
    let tiles = |t: u32| traffic.destinations(t).iter().map(|end| end.tile);
    sorted.sort_unstable_by(|&a, &b| {
        traffic
            .source(a)
            .tile
            .cmp(&traffic.source(b).tile)
            .then_with(|| tiles(a).cmp(tiles(b)))
            .then_with(|| {
                let places = |t: u32| traffic.destinations(t).iter().map(|end| end.at);
                places(a).cmp(places(b))
            })
            .then_with(|| a.cmp(&b))
    });
    let mut streams: Vec<Stream> = Vec::new();
    for &t in &sorted {
        let same = streams.last().is_some_and(|stream| {
            let first = stream.transfers[0];
            traffic.source(first).tile == traffic.source(t).tile && tiles(first).eq(tiles(t))
        });
        if !same {
            streams.push(Stream { transfers: Vec::new(), words: 0 });
        }
        let stream = streams.last_mut().expect("invariant: just pushed");
        stream.transfers.push(t);
        stream.words += traffic.words(t);
    }

    let count = traffic.tiles();
    let mut parent: Vec<u32> = (0..count as u32).collect();
    for stream in &streams {
        let t = stream.transfers[0];
        let a = root(&mut parent, traffic.source(t).tile.0.into());
        for end in traffic.destinations(t) {
            let b = root(&mut parent, end.tile.0.into());
            let a = root(&mut parent, a);
            // The smaller number leads, so components come out in tile order.
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut index = vec![u32::MAX; count];
    let mut list: Vec<Component> = Vec::new();
    for stream in streams {
        let t = stream.transfers[0];
        let leader = root(&mut parent, traffic.source(t).tile.0.into()) as usize;
        if index[leader] == u32::MAX {
            index[leader] = list.len() as u32;
            list.push(Component { streams: Vec::new(), tiles: Vec::new() });
        }
        list[index[leader] as usize].streams.push(stream);
    }
    for component in &mut list {
        for stream in &component.streams {
            let t = stream.transfers[0];
            component.tiles.push(traffic.source(t).tile);
            component.tiles.extend(traffic.destinations(t).iter().map(|end| end.tile));
        }
        component.tiles.sort_unstable();
        component.tiles.dedup();
    }
    list
}

fn root(parent: &mut [u32], mut tile: u32) -> u32 {
    while parent[tile as usize] != tile {
        parent[tile as usize] = parent[parent[tile as usize] as usize];
        tile = parent[tile as usize];
    }
    tile
}

/// Per local tile, the banks that the component both reads and writes there.
pub(crate) fn contested(traffic: &Traffic, banks: &dyn Banks, component: &Component) -> Vec<u64> {
    let mut read = vec![0u64; component.tiles.len()];
    let mut written = vec![0u64; component.tiles.len()];
    for stream in &component.streams {
        let first = stream.transfers[0];
        let source = component.local(traffic.source(first).tile) as usize;
        let receivers: Vec<usize> =
            traffic.destinations(first).iter().map(|end| component.local(end.tile) as usize).collect();
        for &t in &stream.transfers {
            let bytes = 4 * traffic.words(t);
            read[source] |= banks.set(traffic.source(t).at, bytes);
            for (&tile, end) in receivers.iter().zip(traffic.destinations(t)) {
                written[tile] |= banks.set(end.at, bytes);
            }
        }
    }
    read.iter().zip(&written).map(|(r, w)| r & w).collect()
}

/// Cuts the streams of a component into jobs.
pub(crate) fn cut(
    traffic: &Traffic,
    banks: &dyn Banks,
    component: &Component,
    contested: &[u64],
    grain: Grain,
) -> Jobs {
    let mut builder = Builder::new(traffic, banks, component, contested);
    for stream in &component.streams {
        builder.stream(stream, grain);
    }
    builder.jobs
}

/// The jobs of chunks that were cut before; a chunk may become several jobs where banks demand it.
pub(crate) fn recut<'c>(
    traffic: &Traffic,
    banks: &dyn Banks,
    component: &Component,
    contested: &[u64],
    chunks: impl Iterator<Item = &'c [Span]>,
) -> Jobs {
    let mut builder = Builder::new(traffic, banks, component, contested);
    for chunk in chunks {
        builder.spans.clear();
        builder.spans.extend_from_slice(chunk);
        builder.chunk();
    }
    builder.jobs
}

struct Builder<'a> {
    traffic: &'a Traffic,
    banks: &'a dyn Banks,
    component: &'a Component,
    jobs: Jobs,
    /// Spans of the chunk in work, each inside one transfer.
    spans: Vec<Span>,
}

impl<'a> Builder<'a> {
    fn new(traffic: &'a Traffic, banks: &'a dyn Banks, component: &'a Component, contested: &[u64]) -> Self {
        let jobs = Jobs { contested: contested.to_vec(), ..Jobs::default() };
        Self { traffic, banks, component, jobs, spans: Vec::new() }
    }

    fn stream(&mut self, stream: &Stream, grain: Grain) {
        let parts = match grain {
            Grain::Whole | Grain::Message => 1,
            Grain::Words(words) => stream.words.div_ceil(words).max(1),
        };
        let (mut part, mut done) = (1, 0u32);
        // Where part `k` ends, on a multiple of 8 words so that pieces stay whole atoms.
        let boundary = |k: u32| {
            if k >= parts {
                stream.words
            } else {
                ((u64::from(stream.words) * u64::from(k) / u64::from(parts)) as u32 + 4) / 8 * 8
            }
        };
        self.spans.clear();
        let mut target = boundary(part);
        for &t in &stream.transfers {
            let words = self.traffic.words(t);
            let mut first_word = 0;
            if grain == Grain::Message
                && let Some(&last) = self.spans.last()
                && !self.continues(last, Span { transfer: t, first_word: 0, words })
            {
                self.chunk();
            }
            while first_word < words {
                let left = words - first_word;
                let mut take = left.min(target - done);
                // A cut close to the end of a transfer goes to the end of it.
                let snap = (stream.words / parts) / 8;
                if part < parts && left - take <= snap && left > take {
                    take = left;
                }
                if take > 0 {
                    self.spans.push(Span { transfer: t, first_word, words: take });
                }
                first_word += take;
                done += take;
                if done >= target && done < stream.words {
                    self.chunk();
                    while target <= done {
                        part += 1;
                        target = boundary(part);
                    }
                }
            }
        }
        self.chunk();
    }

    /// Whether `next` continues `last` at the sender and at every receiver.
    fn continues(&self, last: Span, next: Span) -> bool {
        self.source_continues(last, next) && self.destinations_continue(last, next)
    }

    fn source_continues(&self, last: Span, next: Span) -> bool {
        place(self.traffic.source(last.transfer), last.first_word + last.words)
            == place(self.traffic.source(next.transfer), next.first_word)
    }

    fn destinations_continue(&self, last: Span, next: Span) -> bool {
        self.traffic
            .destinations(last.transfer)
            .iter()
            .zip(self.traffic.destinations(next.transfer))
            .all(|(&a, &b)| place(a, last.first_word + last.words) == place(b, next.first_word))
    }

    /// Makes jobs of the collected spans: one, or more where contested banks change.
    fn chunk(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let Some(first) = spans.first() else { return };
        let source = self.component.local(self.traffic.source(first.transfer).tile);
        let receivers: Vec<u32> =
            self.traffic.destinations(first.transfer).iter().map(|end| self.component.local(end.tile)).collect();
        let disputed = self.jobs.contested[source as usize] != 0
            || receivers.iter().any(|&tile| self.jobs.contested[tile as usize] != 0);
        if !disputed {
            self.emit(&spans, source, &receivers);
            self.spans = spans;
            self.spans.clear();
            return;
        }
        // Cut spans where banks change, then join neighbours with equal sets.
        let (mut part, mut part_words, mut part_set): (Vec<Span>, u32, Vec<u64>) = (Vec::new(), 0, Vec::new());
        for &span in &spans {
            let mut first_word = span.first_word;
            let end = span.first_word + span.words;
            while first_word < end {
                let step = self.until_change(span.transfer, first_word, source, &receivers).min(end - first_word);
                let piece = Span { transfer: span.transfer, first_word, words: step };
                let set = self.contested_sets(&[piece], source, &receivers);
                if part_words >= SHORT_BANK_PART && set != part_set {
                    self.emit(&part, source, &receivers);
                    part.clear();
                    part_words = 0;
                }
                match part.last_mut() {
                    Some(last)
                        if last.transfer == piece.transfer && last.first_word + last.words == piece.first_word =>
                    {
                        last.words += piece.words;
                    }
                    _ => part.push(piece),
                }
                part_words += step;
                part_set = set;
                first_word += step;
            }
        }
        self.emit(&part, source, &receivers);
        self.spans = spans;
        self.spans.clear();
    }

    /// Words from `first_word` until the banks of the sender or of a receiver may change.
    fn until_change(&self, transfer: u32, first_word: u32, source: u32, receivers: &[u32]) -> u32 {
        let distance = |end: Endpoint, tile: u32| {
            if self.jobs.contested[tile as usize] == 0 {
                return u32::MAX;
            }
            let at = place(end, first_word);
            let change = self.banks.change(at);
            // A word that straddles a change belongs to both sides and stays with the first.
            u32::try_from((change - at).div_ceil(4)).unwrap_or(u32::MAX).max(1)
        };
        self.traffic
            .destinations(transfer)
            .iter()
            .zip(receivers)
            .map(|(&end, &tile)| distance(end, tile))
            .fold(distance(self.traffic.source(transfer), source), u32::min)
    }

    /// The contested banks that spans touch: at the sender, then at each receiver.
    fn contested_sets(&self, spans: &[Span], source: u32, receivers: &[u32]) -> Vec<u64> {
        let mut sets = vec![0; receivers.len() + 1];
        for span in spans {
            let of = |end: Endpoint, tile: u32| {
                let mask = self.jobs.contested[tile as usize];
                if mask == 0 { 0 } else { mask & self.banks.set(place(end, span.first_word), 4 * span.words) }
            };
            sets[0] |= of(self.traffic.source(span.transfer), source);
            for ((set, &end), &tile) in
                sets[1..].iter_mut().zip(self.traffic.destinations(span.transfer)).zip(receivers)
            {
                *set |= of(end, tile);
            }
        }
        sets
    }

    /// One job of the spans, or two of its halves where its own controls would collide (keeps P4).
    fn emit(&mut self, spans: &[Span], source: u32, receivers: &[u32]) {
        let offsets_before = self.jobs.offsets.len();
        let mut starts = vec![0];
        let mut pointers = vec![0];
        let (mut words, mut message) = (0u32, 0u32);
        for (index, &span) in spans.iter().enumerate() {
            let mut left = span.words;
            if index > 0 {
                let last = spans[index - 1];
                let pointer = !self.destinations_continue(last, span);
                if pointer {
                    pointers.push(words);
                }
                if pointer || !self.source_continues(last, span) {
                    starts.push(words);
                    message = 0;
                }
            }
            while message + left > LONGEST_MESSAGE {
                let take = LONGEST_MESSAGE - message;
                words += take;
                left -= take;
                starts.push(words);
                message = 0;
            }
            words += left;
            message += left;
        }
        let sender = physical(self.component.tiles[source as usize]);
        let first_receiver = self.jobs.receivers.len();
        let sets = self.contested_sets(spans, source, receivers);
        let (mut head, mut tail) = (0i32, 0i32);
        let mut collides = false;
        for (&tile, &banks) in receivers.iter().zip(&sets[1..]) {
            let d = physical(self.component.tiles[tile as usize]);
            let (tau, to_memory) = (route_time(sender, d), mux_to_memory(d));
            head = head.max(-tau);
            tail = tail.max(tau + to_memory + 1 + RECEIVE_GUARD as i32);
            self.jobs.receivers.push(Receiver { tile, tau, to_memory, banks });
            // The neutral control at offset `words` of the mux clock meets a pointer of this job.
            let meeting = i64::from(words) - i64::from(to_memory);
            if let Ok(meeting) = u32::try_from(meeting)
                && let Ok(at) = pointers.binary_search(&meeting)
            {
                collides |= at > 0 && meeting - pointers[at - 1] <= super::placement::QUIET;
            }
        }
        if collides && spans.len() > 1 {
            self.jobs.receivers.truncate(first_receiver);
            let (a, b) = spans.split_at(spans.len() / 2);
            self.emit(a, source, receivers);
            self.emit(b, source, receivers);
            return;
        }
        let first_span = self.jobs.spans.len();
        self.jobs.spans.extend_from_slice(spans);
        self.jobs.offsets.extend_from_slice(&starts);
        let middle = self.jobs.offsets.len();
        self.jobs.offsets.extend_from_slice(&pointers);
        self.jobs.list.push(Job {
            source,
            words,
            banks: sets[0],
            head: head as u32,
            tail: tail as u32,
            receivers: (first_receiver as u32, self.jobs.receivers.len() as u32),
            starts: (offsets_before as u32, middle as u32),
            pointers: (middle as u32, self.jobs.offsets.len() as u32),
            spans: (first_span as u32, self.jobs.spans.len() as u32),
        });
    }
}

/// The place of word `word` of a transfer's endpoint.
fn place(end: Endpoint, word: u32) -> u64 {
    end.at + 4 * u64::from(word)
}
