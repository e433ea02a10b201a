//! The analyst, which receives decoded runs, makes their reports, pages and tables, and stores the runs while the page
//! shows them. The second analyst of a load runs the same program, but stores only the memory records of some runs.

use std::cell::RefCell;
use std::rc::Rc;

use crossprof::document::Page;
use crossprof::export::json;
use crossprof::pages::timeline::{Action, OpChanges, Outcome};
use crossprof::pages::{self, Found, PageQuery, View};
use crossprof::session::Context;
use crossprof::session::RowBlock;
use crossprof::session::Session;
use crossprof::session::Settings;
use crossprof::session::pack_programs;
use crossprof::session::snapshot::Reader;
use crossprof::timeline::{Origin, Raster, Sight, Stage, Strip, Timeline};
use js_sys::{Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

use super::asker::Asker;
use super::export::Made;
use super::memory::ReceivedMemory;
use super::text::text;
use super::timeline::Canvas;
use super::{comparison, pipe, soon};
use crate::profile::Profile;
use crate::protocol::analyst::{
    AnalyseRequest, AnalystRequest, ColourRequest, ComparisonPageRequest, DocumentRequest, MedianStepRequest,
    MemoryRequest, PageRequest, Received, RehearseRequest, ReportRequest, RowRequest, RunChunk, RunReport,
    SearchRequest, StoreMemoryRequest, TableRequest,
};
use crate::protocol::graph::{
    ComparedProgramsRequest, OpNumbersRequest, ProgramBytes, ProgramRequest, Programs, ProgramsRequest,
};
use crate::protocol::packed;
use crate::protocol::timeline::{
    Frame, FrameRequest, Left, PictureForm, PictureRequest, PrepareRequest, Seen, StripPicture, StripRequest,
    TimelineRequest,
};
use crate::protocol::wire::{Body, Document, Packed};

/// Maximum size of the compiled programs that are sent to the second analyst in advance. The analysis of the programs
/// takes several times as much memory.
const PREPARED_BYTES: usize = 64 << 20;

/// Number of steps of each synthetic run in a warm-up. One pass takes about 20 ms.
const STEPS: i64 = 20;
/// Number of passes of a warm-up. Browsers optimise code after it has run for several milliseconds.
const PASSES: u32 = 20;

const DAMAGED: &str = "A run was damaged during the transfer between two workers. Load the profile again.";
const NO_RUN: &str = "This run is not loaded. Open the run's files again.";
const NO_PICTURE: &str =
    "This browser cannot draw the timeline, because it lacks OffscreenCanvas. Use a newer browser.";
const NO_DOCUMENT: &str =
    "This browser cannot save this file, because it lacks OffscreenCanvas or CompressionStream. Use a newer browser.";
const NO_CHANGES: &str = "The differences between the ops could not be read. Load the profiles again.";
const NO_TABLE: &str = "This run has no such table.";

/// Handles a request from the page.
pub fn begin(analyst: &Rc<RefCell<Analyst>>, request: AnalystRequest, asker: Asker) {
    match request {
        AnalystRequest::Rehearse(RehearseRequest) => {
            rehearse(analyst.clone(), 0);
            asker.respond::<RehearseRequest>(&());
        }
        AnalystRequest::Analyse(AnalyseRequest) => receive(analyst.clone(), asker),
        AnalystRequest::Report(request) => {
            asker.answer::<ReportRequest>(analyst.borrow_mut().report(request).ok_or(NO_RUN));
        }
        AnalystRequest::Page(request) => {
            asker.answer::<PageRequest>(analyst.borrow_mut().page(request).map(Packed).ok_or(NO_RUN));
        }
        AnalystRequest::Table(request) => {
            asker.answer::<TableRequest>(analyst.borrow_mut().table(request).ok_or(NO_TABLE));
        }
        AnalystRequest::Row(request) => {
            asker.answer::<RowRequest>(analyst.borrow_mut().row(request).map(Packed).ok_or(NO_RUN));
        }
        AnalystRequest::Search(request) => {
            asker.answer::<SearchRequest>(analyst.borrow_mut().search(request).map(Packed).ok_or(NO_RUN));
        }
        AnalystRequest::Programs(request) => {
            asker.answer::<ProgramsRequest>(analyst.borrow_mut().programs(request).map(Packed).ok_or(NO_RUN));
        }
        AnalystRequest::Program(request) => {
            asker.answer::<ProgramRequest>(analyst.borrow_mut().program(request).ok_or(NO_RUN));
        }
        AnalystRequest::ComparedPrograms(ComparedProgramsRequest { run }) => {
            let mut analyst = analyst.borrow_mut();
            let programs = analyst.settings_of(run).map(|it| analyst.session.compared_programs(run, &it));
            let packed = programs.map(|it| Document::of(Uint8Array::from(&pack_programs(&it)[..]).buffer()));
            asker.answer::<ComparedProgramsRequest>(packed.ok_or(NO_RUN));
        }
        AnalystRequest::OpNumbers(OpNumbersRequest { run, program, op }) => {
            let mut analyst = analyst.borrow_mut();
            let numbers = analyst.settings_of(run).map(|it| analyst.session.op_numbers(run, &it, &program, &op));
            asker.answer::<OpNumbersRequest>(numbers.map(Packed).ok_or(NO_RUN));
        }
        AnalystRequest::Prepare(PrepareRequest { run }) => {
            asker.answer::<PrepareRequest>(analyst.borrow_mut().prepare(run).ok_or(NO_RUN));
        }
        AnalystRequest::Strip(request) => {
            asker.answer::<StripRequest>(analyst.borrow_mut().strip(request));
        }
        AnalystRequest::Picture(request) => {
            let made = analyst.borrow_mut().picture(request);
            wasm_bindgen_futures::spawn_local(async move {
                let made = match made {
                    Some(made) => made.document().await.map_err(|_| NO_DOCUMENT),
                    None => Err(NO_RUN),
                };
                asker.answer::<PictureRequest>(made);
            });
        }
        AnalystRequest::Frame(request) => {
            asker.answer::<FrameRequest>(analyst.borrow_mut().frame(request));
        }
        AnalystRequest::Timeline(request) => {
            asker.answer::<TimelineRequest>(analyst.borrow_mut().timeline(request).map(Packed).ok_or(NO_RUN));
        }
        AnalystRequest::MedianStep(MedianStepRequest { run }) => {
            asker.answer::<MedianStepRequest>(analyst.borrow_mut().median_step(run).ok_or(NO_RUN));
        }
        AnalystRequest::Colour(ColourRequest { run }) => {
            let done = analyst.borrow_mut().colour(run, asker.attachments().get(0));
            asker.answer::<ColourRequest>(done);
        }
        AnalystRequest::Memory(MemoryRequest { run }) => {
            asker.answer::<MemoryRequest>(analyst.borrow_mut().memory(run).ok_or(NO_RUN));
        }
        AnalystRequest::StoreMemory(StoreMemoryRequest { run }) => {
            let bytes = Document::from_js(asker.attachments().get(0)).map(|bytes| bytes.to_vec()).unwrap_or_default();
            asker.respond::<StoreMemoryRequest>(&());
            analyst.borrow_mut().received_memory.store(run, &bytes);
        }
        AnalystRequest::ComparisonPage(request) => {
            let page = comparison::page(request, &asker.attachments());
            asker.answer::<ComparisonPageRequest>(page.map(Packed));
        }
        AnalystRequest::Document(request) => {
            let document = comparison::document(request, &asker.attachments());
            asker.answer::<DocumentRequest>(document);
        }
    }
}

/// Receives the runs that the decoder sends.
fn receive(analyst: Rc<RefCell<Analyst>>, asker: Asker) {
    analyst.borrow_mut().is_asked = true;
    let mut asker = Some(asker);
    pipe::listen(move |chunk, bytes| {
        let mut analyst = analyst.borrow_mut();
        match chunk {
            Some(RunChunk::Done) => {
                if let Some(asker) = asker.take() {
                    asker.answer::<AnalyseRequest>(analyst.received().map(Packed));
                }
            }
            Some(RunChunk::Bytes(length)) => analyst.bytes(&bytes.take(length)),
            Some(RunChunk::Rows) => analyst.rows(bytes.buffer()),
            Some(RunChunk::End) => analyst.run(),
            None => analyst.damaged = true,
        }
    });
}

/// Analyses the runs of one load.
#[derive(Default)]
pub struct Analyst {
    session: Session,
    /// User settings for each run.
    settings: Vec<Settings>,
    /// True if the analyst has received a load or is about to receive one.
    is_asked: bool,
    reader: Reader,
    block: Vec<u8>,
    damaged: bool,
    /// Cached layout and drawing state of each run.
    stages: Vec<Stage>,
    /// One canvas for the events and one for the names, because browsers recreate a canvas when its size changes.
    canvases: [Canvas; 2],
    /// Memory records from another analyst. These records are empty unless this is the second analyst of a load.
    received_memory: ReceivedMemory,
}

impl Analyst {
    /// Adds bytes of a serialised run.
    fn bytes(&mut self, bytes: &Uint8Array) {
        self.block.resize(bytes.length() as usize, 0);
        bytes.copy_to(&mut self.block);
        self.reader.push(&self.block);
    }

    /// Adds events of a run.
    fn rows(&mut self, buffer: &JsValue) {
        let words = Uint32Array::new(buffer);
        match RowBlock::filled(words.length() as usize, |slots| words.copy_to(slots)) {
            Some(rows) => self.reader.push_rows(rows),
            None => self.damaged = true,
        }
    }

    /// Completes a serialised run.
    fn run(&mut self) {
        self.damaged |= self.session.take_over(std::mem::take(&mut self.reader)).is_err();
        self.settings.push(Settings::default());
        self.stages.push(Stage::default());
    }

    /// Completes the load after the last run has arrived.
    fn received(&mut self) -> Result<Received, &'static str> {
        self.block = Vec::new();
        let received = Received { runs: self.settings.len() as u32, newest: self.session.newest() };
        if self.damaged { Err(DAMAGED) } else { Ok(received) }
    }

    /// Returns the settings of a run, or `None` if there is no such run.
    fn settings_of(&self, run: u32) -> Option<Settings> {
        self.settings.get(run as usize).cloned()
    }

    fn report(&mut self, ReportRequest { run, settings }: ReportRequest) -> Option<RunReport> {
        let slot = self.settings.get_mut(run as usize)?;
        slot.clone_from(&settings);
        let profile = self.session.report(run, &settings)?;
        let document = Document::new(&json::profile(&profile));
        let is_earlier_result = self.session.is_imported(run) && !self.session.is_of_lake(run);
        let profile = Profile::new(profile, is_earlier_result);
        Some(RunReport { profile: Packed(profile), document })
    }

    fn page(&mut self, PageRequest { run, view, query }: PageRequest) -> Option<Page> {
        if self.received_memory.contains(run) {
            return Some(self.received_memory.page(run, &query));
        }
        let settings = self.settings_of(run)?;
        self.session.page(run, &settings, view, &query)
    }

    fn table(&mut self, request: TableRequest) -> Option<Document> {
        if self.received_memory.contains(request.run) {
            return self.received_memory.table(&request);
        }
        let TableRequest { run, name, variant, area, query, format } = request;
        let settings = self.settings_of(run)?;
        let table = self.session.table_of_area(run, &settings, name, &variant, &area, &query)?.ok()?;
        Some(Document::new(&text(&table, format)))
    }

    fn row(&mut self, request: RowRequest) -> Option<Page> {
        if self.received_memory.contains(request.run) {
            return self.received_memory.row(&request);
        }
        let RowRequest { run, name, variant, query, index } = request;
        let settings = self.settings_of(run)?;
        self.session.row(run, &settings, name, &variant, &query, index)
    }

    fn search(&mut self, SearchRequest { run, text }: SearchRequest) -> Option<Vec<Found>> {
        let settings = self.settings_of(run)?;
        // An imported report has no events to search.
        Some(self.session.timeline(run, &settings, |context, _| pages::search(context, &text)).unwrap_or_default())
    }

    /// Lists the compiled programs of a run. The list is empty for an imported report.
    fn programs(&mut self, ProgramsRequest { run, wanted, op }: ProgramsRequest) -> Option<Programs> {
        let settings = self.settings_of(run)?;
        let programs = self.session.hlo_programs(run, &settings).unwrap_or_default();
        let found = self.session.hlo_program_of(run, &settings, &programs, wanted.as_deref(), op.as_deref());
        Some(Programs { programs, found })
    }

    fn program(&mut self, ProgramRequest { run, program }: ProgramRequest) -> Option<ProgramBytes> {
        let settings = self.settings_of(run)?;
        let found = self.session.hlo_program_bytes(run, &settings, &program)?;
        Some(ProgramBytes::new(&found.bytes, found.ops))
    }

    /// Prepares a part of the timeline or, when the timeline is ready, the layers of one grouping. When all parts are
    /// ready, draws the first picture and computes the statistics of a range. The browser compiles that code and loads
    /// fonts, so the first picture takes five times as long as the second, and the first statistics take three times as
    /// long.
    fn prepare(&mut self, run: u32) -> Option<Left> {
        let settings = self.settings_of(run)?;
        let is_unmade =
            self.session.timeline(run, &settings, |context, kept| kept.prepare(context) || context.prepare_layers())?;
        if is_unmade {
            return Some(Left::Part);
        }
        self.rehearse_timeline(run);
        let memory = self.session.memory(run, &settings);
        let is_worth = memory.is_some_and(|memory| (1..=PREPARED_BYTES).contains(&memory.program_bytes()));
        Some(if is_worth { Left::Memory } else { Left::Nothing })
    }

    /// Draws the timeline's first picture and computes the statistics of the whole range, as a warm-up. The picture and
    /// the statistics are discarded.
    fn rehearse_timeline(&mut self, run: u32) {
        let sight = Sight { width: 1_200, height: 700, names_width: 200, scale: 1.0, ..Sight::default() };
        if let Ok(Frame { names, events, seen }) = self.frame(FrameRequest { run, sight: sight.clone() }) {
            names.close();
            events.close();
            let action = Action::Area { range_ps: seen.all_ps, rows: None, first_look: true };
            drop(self.timeline(TimelineRequest { run, sight, action, query: PageQuery::default() }));
        }
    }

    fn strip(&mut self, StripRequest { run, size, dark }: StripRequest) -> Result<StripPicture, &'static str> {
        let settings = self.settings_of(run).ok_or(NO_RUN)?;
        let drawn = self.session.timeline(run, &settings, |context, timeline| {
            let strip = Strip { context, timeline, size, dark };
            let mut raster = Raster::default();
            raster.clear(size.0, size.1, strip.background());
            strip.draw(&mut raster);
            Ok::<_, JsValue>(StripPicture {
                bitmap: Canvas::default().show(&raster, 1.0)?,
                length_ps: crossprof::timeline::extent(context).length().as_ps(),
            })
        });
        drawn.ok_or(NO_RUN)?.map_err(|_| NO_PICTURE)
    }

    fn picture(&mut self, PictureRequest { run, sight, title, form }: PictureRequest) -> Option<Made> {
        let settings = self.settings_of(run)?;
        let stage = self.stages.get_mut(run as usize)?;
        // A saved picture shows no pointer, and an SVG does not depend on the scale of the screen.
        let scale = if form == PictureForm::Svg { 1.0 } else { sight.scale };
        let sight = Sight { scale, pointer: None, ..sight };
        self.session.timeline(run, &settings, |context, kept| {
            let scene = pages::timeline::scene(context, kept, stage, &sight);
            Made::new(form, &scene, &title, sight.names_width)
        })
    }

    fn frame(&mut self, FrameRequest { run, sight }: FrameRequest) -> Result<Frame, &'static str> {
        let settings = self.settings_of(run).ok_or(NO_RUN)?;
        let stage = self.stages.get_mut(run as usize).ok_or(NO_RUN)?;
        let [for_events, for_names] = &mut self.canvases;
        let drawn = self.session.timeline(run, &settings, |context, kept| {
            // Two runs that move together are shown in full at first.
            let opens_at = || pages::timeline::first_range(&context).filter(|_| sight.extent_ps.is_none());
            let sight = Sight { range_ps: sight.range_ps.or_else(opens_at), ..sight.clone() };
            let scene = pages::timeline::scene(context, kept, stage, &sight);
            let events = for_events.draw(&scene, scene.size, |raster| scene.draw(raster))?;
            let names_size = (sight.names_width, sight.height);
            let names = for_names.draw(&scene, names_size, |raster| scene.draw_names(raster, sight.names_width))?;
            Ok::<Frame, JsValue>(Frame {
                names,
                events,
                seen: Seen {
                    all_ps: scene.from_zero(scene.viewport.all),
                    range_ps: scene.from_zero(scene.viewport.range),
                    height: scene.layout.height,
                    scroll: sight.scroll,
                    edge_ps: scene.snapped_ps(&sight),
                    tip: pages::timeline::tip(&scene, &sight),
                },
            })
        });
        drawn.ok_or(NO_RUN)?.map_err(|_| NO_PICTURE)
    }

    fn timeline(&mut self, TimelineRequest { run, sight, action, query }: TimelineRequest) -> Option<Outcome> {
        let settings = self.settings_of(run)?;
        let stage = self.stages.get_mut(run as usize)?;
        self.session.timeline(run, &settings, |context, kept| {
            pages::timeline::act(context, kept, stage, &sight, action, &query)
        })
    }

    fn colour(&mut self, run: u32, changes: JsValue) -> Result<(), &'static str> {
        let settings = self.settings_of(run).ok_or(NO_RUN)?;
        let changes = Document::from_js(changes).and_then(|text| crossprof::text::json::from_str(&text.text()).ok());
        let changes: OpChanges = changes.ok_or(NO_CHANGES)?;
        let colours = |context: Context<'_>, kept: &Timeline| {
            pages::timeline::colours(kept.source(context, Origin::Captured), &changes)
        };
        let colours = self.session.timeline(run, &settings, colours);
        self.stages.get_mut(run as usize).ok_or(NO_RUN)?.changes = colours;
        Ok(())
    }

    fn median_step(&mut self, run: u32) -> Option<Document> {
        let settings = self.settings_of(run)?;
        Some(Document::new(&self.session.median_step(run, &settings).unwrap_or_default()))
    }

    /// Returns the memory records of a run as bytes. The records are empty for an imported report.
    fn memory(&mut self, run: u32) -> Option<Document> {
        let settings = self.settings_of(run)?;
        let bytes = self.session.memory(run, &settings).map(|recorded| recorded.to_bytes()).unwrap_or_default();
        Some(Document::of(Uint8Array::from(&bytes[..]).buffer()))
    }
}

/// Warms up the analyst: repeats the work of a load with synthetic runs until a load arrives. Through the warm-up, the
/// browser has already optimised the code when the first load arrives. Other messages are handled between two passes.
fn rehearse(analyst: Rc<RefCell<Analyst>>, pass: u32) {
    if analyst.borrow().is_asked || pass == PASSES {
        return;
    }
    let (mut session, settings) = (Session::rehearsal(STEPS), Settings::default());
    for run in 0..2 {
        let report = session.report(run, &settings).map(|report| json::profile(&report));
        let page = session.page(run, &settings, View::Overview, &PageQuery::default());
        drop((report, serde_json::to_value(&page).ok().as_ref().and_then(packed::write)));
    }
    soon(move || rehearse(analyst, pass + 1));
}
