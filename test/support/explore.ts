// Explores every reachable state of a model and checks two things: each state fulfils every claim, and from each state
// an end can be reached by steps that the system itself is sure to take.

/** Thrown if a step does something forbidden. */
export class Broken extends Error {}

export type Move<World> = {
  readonly name: string
  readonly world: World
  /** Whether this step is sure to happen as long as it is possible: the chain grows, jobs run, the tracker follows. */
  readonly isPromised: boolean
}

export type Model<World> = {
  readonly start: World
  /** Equal for equal worlds. */
  key(world: World): string
  /** @throws Broken if a step does something forbidden. */
  movesFrom(world: World): readonly Move<World>[]
  /** The claim that does not hold, or null. */
  brokenIn(world: World): string | null
  isEnd(world: World): boolean
}

export type Report = {
  readonly states: number
  /** The first broken claim with its shortest history, or null. */
  readonly broken: string | null
  /** Whether the state with this key was reached. */
  has(key: string): boolean
}

/**
 * Explores breadth first, so that the history of a broken claim is as short as possible.
 * @param input.visit is called with each state once. @throws if there are more than `statesMax`.
 */
export const explore = <World>(
  model: Model<World>,
  input: { readonly statesMax: number; readonly visit?: (world: World) => void },
): Report => {
  const index = new Map([[model.key(model.start), 0]])
  const parents: number[] = [-1]
  const isEnd: boolean[] = []
  const promised = new Edges()
  const report = (broken: string | null): Report => ({ states: index.size, broken, has: (key) => index.has(key) })

  /** The states are not kept, so the history is found by walking again. */
  const history = (to: number): string => {
    const path: number[] = []
    for (let here = to; here > 0; here = parents[here] ?? 0) path.unshift(here)
    let world = model.start
    const names = path.map((next) => {
      const move = model.movesFrom(world).find((each) => index.get(model.key(each.world)) === next)
      if (move === undefined) throw new Error('a model must make the same moves each time')
      world = move.world
      return move.name
    })
    return names.join(' → ')
  }

  const reach = (from: number, move: Move<World>, later: World[]): void => {
    const key = model.key(move.world)
    let to = index.get(key)
    if (to === undefined) {
      if (index.size >= input.statesMax) throw new Error(`more than ${input.statesMax} states`)
      to = index.size
      index.set(key, to)
      parents.push(from)
      later.push(move.world)
    }
    if (move.isPromised) promised.add(from, to)
  }

  let at = 0
  for (let now = [model.start], later: World[] = []; now.length > 0; now = later, later = []) {
    for (const world of now) {
      input.visit?.(world)
      isEnd.push(model.isEnd(world))
      try {
        const broken = model.brokenIn(world)
        if (broken !== null) throw new Broken(broken)
        for (const move of model.movesFrom(world)) reach(at, move, later)
      } catch (error) {
        if (error instanceof Broken) return report(`${error.message}: ${history(at)}`)
        throw error
      }
      at += 1
    }
  }
  const stuck = promised.firstWithoutWayTo(isEnd)
  return report(stuck === null ? null : `no way to an end: ${history(stuck)}`)
}

const FIRST_CAPACITY = 1 << 16

/** Pairs of numbers in compact form, because there are tens of millions. */
class Edges {
  #from = new Uint32Array(FIRST_CAPACITY)
  #to = new Uint32Array(FIRST_CAPACITY)
  #count = 0

  add(from: number, to: number): void {
    if (this.#count === this.#from.length) {
      this.#from = doubled(this.#from)
      this.#to = doubled(this.#to)
    }
    this.#from[this.#count] = from
    this.#to[this.#count] = to
    this.#count += 1
  }

  /** The lowest number from which no marked one can be reached. */
  firstWithoutWayTo(marked: readonly boolean[]): number | null {
    const reaches = Uint8Array.from(marked, Number)
    // Most edges lead to states that were found later, so a few rounds from the last edge to the first are enough.
    for (let hasChanged = true; hasChanged; ) {
      hasChanged = false
      for (let edge = this.#count - 1; edge >= 0; edge -= 1) {
        const from = this.#from[edge] ?? 0
        if (reaches[from] === 1 || reaches[this.#to[edge] ?? 0] === 0) continue
        reaches[from] = 1
        hasChanged = true
      }
    }
    const stuck = reaches.indexOf(0)
    return stuck === -1 ? null : stuck
  }
}

const doubled = (list: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
  const longer = new Uint32Array(list.length * 2)
  longer.set(list)
  return longer
}
