// Answers as the server does, from data within the page: a model as its state graph, or runs with all their states.
import { namesOf } from "./graph.js";
import { FEW } from "./run_view.js";

/** @typedef {import("./main.js").Place} Place */
/** @typedef {[string, number, number, number, number, number, number]} Leaving id, kind, node, message, event, picks, target */
/** @typedef {[number, number, number, number]} Happening kind, node, message, event */
/** @typedef {{protocol: string, model: string, about: string, limits: string, nodes: string[], kinds: string[], states: [string, string][][],
 *   messages: import("./model_view.js").Message[], events: string[], picks: {site: string, chosen: string[]}[][], texts: string[],
 *   changes: Record<string, number>, properties: {name: string, about: string, clauses: string[], watched: boolean, possible: boolean}[],
 *   questions: (import("./model_view.js").Reach & {of: string})[], most: number, loses: boolean, blocked: Happening[][], worlds: [number[], number[]][], moves: Leaving[][], broken: number[][],
 *   answers: [number, number[], string | null][][]}} Graph of each world the questions that it answers with no, why, and what shows it */
/** @typedef {import("./run_view.js").Run & {changes: Record<string, Record<string, Record<string, string | null>>>}} Whole */

/** Whether this is the name of a field, or its end after a dot. @param {string} name @param {string} field */
const isNamed = (name, field) => name === field || name.endsWith(`.${field}`);

/** @param {Graph} graph */
function walk(graph) {
  const reached = new Set(graph.answers.flat().map(([question]) => question));

  /** Why a world answers a question with no; undefined if it does not. @param {number} world @param {string} name */
  const answer = (world, name) => graph.answers[world].find(([question]) => graph.questions[question].name === name);

  /** @param {string[]} path @returns {{world: number, move: Leaving | null}[]} */
  function follow(path) {
    /** @type {{world: number, move: Leaving | null}[]} */
    const steps = [{ world: 0, move: null }];
    path.forEach((id, at) => {
      const move = graph.moves[steps[at].world].find((one) => one[0] === id);
      if (!move) throw new Error(`there is no move '${id}' at step ${at + 1} of the path`);
      steps.push({ world: move[6], move });
    });
    return steps;
  }

  /** @param {Happening} one */
  function happening([kind, place, message, event]) {
    return { kind: graph.kinds[kind], node: graph.nodes[place], event: graph.events[event], message: message < 0 ? null : graph.messages[message] };
  }

  /** @param {number} before @param {Leaving} move */
  function done(before, move) {
    const target = move[6];
    const [[was, had], [now, has]] = [graph.worlds[before], graph.worlds[target]];
    /** @type {Record<string, string>} */
    const changes = {};
    graph.nodes.forEach((name, node) => {
      const text = graph.texts[graph.changes[`${was[node]} ${now[node]}`]];
      if (text) changes[name] = text;
    });
    const sends = has.filter((number) => !had.includes(number)).map((number) => graph.messages[number]);
    return { ...happening([move[1], move[2], move[3], move[4]]), changes, sends };
  }

  /** @param {number} before @param {number} world @param {number} node */
  function card(before, world, node) {
    const [was, now] = [before, world].map((one) => new Map(graph.states[graph.worlds[one][0][node]]));
    const fields = [...now].map(([name, value]) => ({ name, value, changed: was.get(name) !== value }));
    const gone = [...was.keys()].filter((name) => !now.has(name)).map((name) => ({ name, value: "", changed: true }));
    return { name: graph.nodes[node], fields: [...fields, ...gone] };
  }

  /** A shortest path from the start. @param {(world: number) => boolean} wanted */
  function wayTo(wanted) {
    /** @type {Map<number, {from: number, id: string} | null>} */
    const came = new Map([[0, null]]);
    for (const world of came.keys()) {
      if (wanted(world)) {
        const path = [];
        for (let at = came.get(world); at; at = came.get(at.from)) path.unshift(at.id);
        return path;
      }
      for (const [id, , , , , , target] of graph.moves[world]) if (!came.has(target)) came.set(target, { from: world, id });
    }
    return null;
  }

  return {
    /** @param {Place} place */
    view(place) {
      const steps = follow(place.path);
      const { world } = steps[steps.length - 1];
      const before = steps.length > 1 ? steps[steps.length - 2].world : world;
      const broken = new Set(graph.broken[world]);
      const question = graph.questions.find((one) => one.name === place.question);
      return {
        protocol: graph.protocol, model: graph.model, about: graph.about, limits: graph.limits, path: place.path,
        nodes: graph.nodes.map((_, node) => card(before, world, node)),
        net: graph.worlds[world][1].map((number) => graph.messages[number]),
        blocked: graph.blocked[world].map((one) => happening(one)), most: graph.most, loses: graph.loses,
        moves: graph.moves[world].map((move) => ({ ...done(world, move), id: move[0], picks: graph.picks[move[5]] })),
        properties: graph.properties.map((one, index) => ({ ...one, holds: one.watched ? null : !broken.has(index) })),
        steps: steps.slice(1).map((step, index) => done(steps[index].world, /** @type {Leaving} */ (step.move))),
        asked: question ? { ...question, causes: steps.map((step) => answer(step.world, question.name)?.[1].map((number) => graph.messages[number].number) ?? null) } : null,
        reaches: graph.questions.filter((_, index) => reached.has(index)),
      };
    },
    /** @param {Place} _ @param {string} to */
    way(_, to) {
      const path = wayTo((world) => Boolean(answer(world, to)));
      const shown = path && answer(follow(path)[path.length].world, to)?.[2];
      return { path: path && shown ? [...path, shown] : path };
    },
    /** @param {Place} _ @param {Record<string, string>} described */
    find(_, { node, field, value }) {
      const fits = graph.states.map((fields) => fields.some(([name, found]) => isNamed(name, field) && found === value));
      const path = wayTo((world) => graph.worlds[world][0].some((state, place) => fits[state] && (!node || graph.nodes[place] === node)));
      return { path, known: graph.states.some((fields) => fields.some(([name]) => isNamed(name, field))) };
    },
  };
}

/** The cards of a moment where none is chosen: all if they are few, else those of the nodes that it concerns. @param {Whole} run @param {number} at */
function cardsOf(run, at) {
  if (run.cards.length <= FEW || at < 0) return run.cards.slice(0, FEW);
  const { node, parts } = run.moments[at];
  const names = [node, ...parts.flatMap(namesOf)];
  return run.cards.filter((card) => names.includes(card.replace(/ \(specification\)$/, "")));
}

/** @param {Whole} run */
function replay(run) {
  /** The fields of a node after a moment. @param {string} name @param {number} moment */
  function fieldsAt(name, moment) {
    /** @type {Map<string, string>} */
    const fields = new Map();
    for (const [at, changes] of Object.entries(run.changes[name] ?? {}).sort(([one], [other]) => Number(one) - Number(other))) {
      if (Number(at) > moment) break;
      for (const [field, value] of Object.entries(changes)) value === null ? fields.delete(field) : fields.set(field, value);
    }
    return fields;
  }

  return (/** @type {number} */ at, /** @type {string[] | null} */ nodes) => {
    const cards = (nodes ?? cardsOf(run, at)).map((name) => {
      const now = fieldsAt(name, at);
      const isKnown = ![...now.keys()].some((field) => field.startsWith("(")); // else it is a remark that there is no state
      const changes = (isKnown && run.changes[name]?.[at]) || {};
      const gone = Object.entries(changes).filter(([, value]) => value === null).map(([field]) => ({ name: field, value: "", changed: true }));
      return { name, fields: [...[...now].map(([field, value]) => ({ name: field, value, changed: field in changes })), ...gone] };
    });
    return { moment: at < 0 ? null : run.moments[at], nodes: cards };
  };
}

/** The first moment after another at which some field gets a value; -1 if there is none.
 * @param {Whole} run @param {number} at @param {string} field @param {string} value */
function firstChange(run, at, field, value) {
  const fits = Object.values(run.changes).flatMap((moments) => Object.entries(moments))
    .filter(([moment, changes]) => Number(moment) > at && Object.entries(changes).some(([name, found]) => isNamed(name, field) && found === value));
  return fits.length ? Math.min(...fits.map(([moment]) => Number(moment))) : -1;
}

/** @param {{model?: Graph, runs?: Whole[], legends?: Record<string, import("./legend.js").Legend>}} data */
export function embedded(data) {
  const model = data.model && walk(data.model);
  const runs = data.runs ?? [];
  const missing = () => { throw new Error("this needs peerproof model explore"); };
  return {
    info: async () => ({
      models: data.model ? { [data.model.protocol]: { [data.model.model]: data.model.about } } : {},
      runs: runs.map((run) => run.title), implementation: null, alone: true,
    }),
    view: async (/** @type {Place} */ place) => model?.view(place),
    way: async (/** @type {Place} */ place, /** @type {string} */ to) => model?.way(place, to),
    find: async (/** @type {Place} */ place, /** @type {Record<string, string>} */ described) => model?.find(place, described),
    check: async () => missing(),
    keep: async () => missing(),
    run: async (/** @type {number} */ number) => runs[number],
    legend: async (/** @type {string} */ protocol) => data.legends?.[protocol] ?? {},
    seek: async (/** @type {number} */ number, /** @type {number} */ at, /** @type {string} */ field, /** @type {string} */ value) =>
      ({ moment: firstChange(runs[number], at, field, value) }),
    moment: async (/** @type {number} */ number, /** @type {number} */ at, /** @type {string[] | null} */ nodes) => replay(runs[number])(at, nodes),
  };
}
