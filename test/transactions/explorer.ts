// A small world walked through in every possible order: API processes that record intents, workers that send and crash, a
// node that mines, forgets and is reorganised, a stranger who uses the key. What a transaction makes of it is the running
// code's own transition function. Time does not exist here: whatever may happen next, happens in some branch.

import {
  FIRST_STATE,
  holdsNonce,
  type Ladder,
  statusOf,
  type TransactionEvent,
  type TransactionState,
  transition,
} from '../../src/transactions/transition.ts'

/** Two rungs and the cancel. */
const LADDER: Ladder = { rungs: 2 }
const CANCEL = LADDER.rungs
/** A block is final once another is on top of it. */
const FINAL_DEPTH = 1
const STRANGER = 'x'

type Intent = {
  readonly nonce: number
  readonly state: TransactionState
  /** Broadcast jobs that wait. */
  readonly jobs: number
  /** A worker between the node's answer and writing it down. */
  readonly running: { readonly attempt: number; readonly heard: 'accepted' | 'refused' | 'unknown' } | null
}

type Signer = {
  /** Requests that have read the chain and not yet recorded: the pending count that each saw. */
  readonly prepared: readonly (number | null)[]
  /** null: not recorded yet, or never will be. */
  readonly intents: readonly (Intent | null)[]
  readonly lost: readonly boolean[]
  /** By nonce: `intent.attempt`, or the stranger's. */
  readonly pool: Readonly<Record<number, string>>
}

type Block = { readonly hash: string; readonly mined: readonly (readonly string[])[] }

export type World = {
  readonly signers: readonly Signer[]
  readonly chain: readonly Block[]
  /** How many blocks are final; that never shrinks. */
  readonly final: number
  /** The blocks that the tracker has taken in. */
  readonly tracked: readonly Block[]
  readonly left: Readonly<Budget>
}

/** How often each misfortune may happen in one history. */
export type Budget = {
  crash: number
  lostJob: number
  doubledJob: number
  forget: number
  reorg: number
  stranger: number
  climb: number
  expire: number
  silence: number
}

/** The rules under test; a test replaces one by a broken rule and sees it found. */
export type Rules = {
  readonly transition: typeof transition
  readonly holdsNonce: typeof holdsNonce
  /** What a worker makes of an answer that it did not hear. */
  readonly onUnknown: TransactionEvent | null
}

export const RULES: Rules = { transition, holdsNonce, onUnknown: null }

export type Report = { readonly states: number; readonly broken: string | null }

const minedOf = (world: Pick<World, 'chain'>, signer: number, upTo = world.chain.length): readonly string[] =>
  world.chain.slice(0, upTo).flatMap((block) => block.mined[signer] ?? [])

const finalLength = (world: World): number => world.final

const pendingCount = (world: World, signer: number): number => {
  let count = minedOf(world, signer).length
  while (world.signers[signer]?.pool[count] !== undefined) count += 1
  return count
}

const withSigner = (world: World, at: number, change: Partial<Signer>): World => ({
  ...world,
  signers: world.signers.map((signer, index) => (index === at ? { ...signer, ...change } : signer)),
})

const spend = (world: World, what: keyof Budget): World => ({
  ...world,
  left: { ...world.left, [what]: world.left[what] - 1 },
})

const set = <Item>(list: readonly Item[], at: number, item: Item): readonly Item[] =>
  list.map((each, index) => (index === at ? item : each))

const setIntent = (world: World, at: number, index: number, intent: Intent | null): World => {
  const signer = world.signers[at]
  return signer === undefined ? world : withSigner(world, at, { intents: set(signer.intents, index, intent) })
}

/** The state and its effects are one database transaction: the effect is a job in the queue. */
const feed = (rules: Rules, intent: Intent, event: TransactionEvent): Intent => {
  const { state, effects } = rules.transition({ ladder: LADDER, state: intent.state, event })
  const jobs = effects.some((effect) => effect.kind === 'send') ? Math.max(intent.jobs, 1) : intent.jobs
  return { ...intent, state, jobs }
}

const isLive = (intent: Intent): boolean => intent.state.kind === 'waiting'

type Move = { readonly name: string; readonly world: World }

const recording = (world: World, rules: Rules): Move[] =>
  world.signers.flatMap((signer, at) =>
    signer.intents.flatMap((intent, index): Move[] => {
      if (intent !== null || signer.lost[index]) return []
      const seen = signer.prepared[index] ?? null
      if (seen === null) {
        // Requests come in their order.
        const first = signer.intents.findIndex(
          (each, i) => each === null && !signer.lost[i] && signer.prepared[i] === null,
        )
        if (first !== index) return []
        const prepared = set(signer.prepared, index, pendingCount(world, at))
        return [{ name: `prepare ${at}.${index}`, world: withSigner(world, at, { prepared }) }]
      }
      const held = new Set(
        signer.intents.flatMap((each) => (each !== null && rules.holdsNonce(each.state) ? [each.nonce] : [])),
      )
      let nonce = seen
      while (held.has(nonce)) nonce += 1
      const recorded: Intent = { nonce, state: FIRST_STATE, jobs: 1, running: null }
      return [
        {
          name: `record ${at}.${index} at ${nonce}`,
          world: withSigner(world, at, {
            intents: set(signer.intents, index, recorded),
            prepared: set(signer.prepared, index, null),
          }),
        },
      ]
    }),
  )

const attemptOf = (tx: string): number => Number(tx.split('.')[1])

/** What a node does with bytes: each way that a node is known to take. */
const offered = (
  world: World,
  at: number,
  nonce: number,
  tx: string,
): readonly (readonly [World, 'accepted' | 'refused'])[] => {
  const signer = world.signers[at]
  if (signer === undefined || nonce < minedOf(world, at).length) return [[world, 'refused']]
  const there = signer.pool[nonce]
  const replaced = withSigner(world, at, { pool: { ...signer.pool, [nonce]: tx } })
  if (there === undefined || there === tx) return [[replaced, 'accepted']]
  if (there === STRANGER) {
    return [
      [replaced, 'accepted'],
      [world, 'refused'],
    ]
  }
  return attemptOf(tx) > attemptOf(there) ? [[replaced, 'accepted']] : [[world, 'refused']]
}

const sending = (world: World, rules: Rules): Move[] =>
  world.signers.flatMap((signer, at) =>
    signer.intents.flatMap((intent, index): Move[] => {
      if (intent === null) return []
      if (intent.running === null) {
        if (intent.jobs === 0) return []
        if (!isLive(intent)) {
          const done = { ...intent, jobs: Math.max(intent.jobs - 1, 0) }
          return [{ name: `job ${at}.${index} has nothing to do`, world: setIntent(world, at, index, done) }]
        }
        const attempt = intent.state.kind === 'waiting' ? intent.state.chosen : 0
        const name = `send ${at}.${index}.${attempt}`
        return offered(world, at, intent.nonce, `${index}.${attempt}`).flatMap(([next, heard]) => {
          const after = (how: 'accepted' | 'refused' | 'unknown') =>
            setIntent(next, at, index, { ...intent, running: { attempt, heard: how } })
          const silent: Move[] =
            world.left.silence > 0 ? [{ name: `${name}, answer lost`, world: spend(after('unknown'), 'silence') }] : []
          return [{ name: `${name}, ${heard}`, world: after(heard) }, ...silent]
        })
      }
      const { attempt, heard } = intent.running
      const event: TransactionEvent | null =
        heard === 'accepted' ? { kind: 'accepted', attempt } : heard === 'unknown' ? rules.onUnknown : null
      const told = event === null ? intent : feed(rules, intent, event)
      // An unknown answer is tried again; a refusal is left to the reconciler.
      const jobs = heard === 'unknown' ? Math.max(told.jobs, 1) : Math.max(told.jobs - 1, 0)
      const written = { ...told, running: null, jobs }
      return [{ name: `write ${at}.${index} ${heard}`, world: setIntent(world, at, index, written) }]
    }),
  )

const mining = (world: World): Move[] => {
  const mined = world.signers.map((signer, at) => {
    const found: string[] = []
    for (let nonce = minedOf(world, at).length; ; nonce += 1) {
      const tx = signer.pool[nonce]
      if (tx === undefined) return found
      found.push(tx)
    }
  })
  const isEmpty = mined.every((each) => each.length === 0)
  const top = world.chain.at(-1)
  // Empty blocks only where they make something final.
  if (isEmpty && (top === undefined || top.mined.every((each) => each.length === 0))) return []
  const hash = `${world.chain.length}:${mined.map((each) => each.join(',')).join(';')}:${world.left.reorg}`
  const chain = [...world.chain, { hash, mined }]
  const signers = world.signers.map((signer, at) => {
    const first = minedOf(world, at).length
    const pool = Object.fromEntries(
      Object.entries(signer.pool).filter(([nonce]) => Number(nonce) >= first + (mined[at]?.length ?? 0)),
    )
    return { ...signer, pool }
  })
  return [
    { name: 'mine', world: { ...world, signers, chain, final: Math.max(world.final, chain.length - FINAL_DEPTH) } },
  ]
}

const reorganising = (world: World): Move[] => {
  const top = world.chain.at(-1)
  if (world.left.reorg === 0 || top === undefined || world.chain.length <= world.final) return []
  const shorter = spend({ ...world, chain: world.chain.slice(0, -1) }, 'reorg')
  const restored = shorter.signers.map((signer, at) => {
    const first = minedOf(shorter, at).length
    const back = Object.fromEntries((top.mined[at] ?? []).map((tx, index) => [first + index, tx]))
    return { ...signer, pool: { ...signer.pool, ...back } }
  })
  return [
    { name: 'reorg, dropped', world: shorter },
    { name: 'reorg, back in the pool', world: { ...shorter, signers: restored } },
  ]
}

const ours = (tx: string, index: number): boolean => tx.split('.')[0] === String(index)

const eachIntent = (world: World, change: (intent: Intent, at: number, index: number) => Intent): World => ({
  ...world,
  signers: world.signers.map((signer, at) => ({
    ...signer,
    intents: signer.intents.map((intent, index) => (intent === null ? null : change(intent, at, index))),
  })),
})

const tracking = (world: World, rules: Rules): Move[] => {
  const { tracked, chain } = world
  const common = tracked.findIndex((block, index) => chain[index]?.hash !== block.hash)
  if (common !== -1) {
    const gone = new Set(tracked.slice(common).map((block) => block.hash))
    const next = eachIntent(world, (intent) =>
      intent.state.kind === 'mined' && gone.has(intent.state.blockHash)
        ? feed(rules, intent, { kind: 'excluded' })
        : intent,
    )
    return [{ name: 'track: rewind', world: { ...next, tracked: tracked.slice(0, common) } }]
  }
  const block = chain[tracked.length]
  if (block === undefined) return []
  const next = eachIntent(world, (intent, at, index) => {
    const tx = block.mined[at]?.find((each) => ours(each, index))
    if (tx === undefined) return intent
    return feed(rules, intent, { kind: 'included', attempt: attemptOf(tx), blockHash: block.hash })
  })
  return [{ name: 'track: next block', world: { ...next, tracked: [...tracked, block] } }]
}

const settling = (world: World, rules: Rules): Move[] => {
  const known = new Set(world.chain.map((block) => block.hash))
  const final = new Set(world.chain.slice(0, finalLength(world)).map((block) => block.hash))
  const next = eachIntent(world, (intent) => {
    if (intent.state.kind !== 'mined' || !known.has(intent.state.blockHash)) return intent
    const { blockHash } = intent.state
    const told = feed(rules, intent, { kind: 'confirmed', blockHash, success: true })
    return final.has(blockHash) ? feed(rules, told, { kind: 'finalized', blockHash }) : told
  })
  return [{ name: 'settle', world: next }]
}

const reconciling = (world: World, rules: Rules): Move[] =>
  world.signers.flatMap((signer, at) =>
    signer.intents.flatMap((intent, index): Move[] => {
      if (intent === null || intent.state.kind !== 'waiting') return []
      if (minedOf(world, at).some((tx) => ours(tx, index))) return []
      const isInPool = Object.values(signer.pool).some((tx) => ours(tx, index))
      const finalCount = minedOf(world, at, finalLength(world)).length
      const minedCount = minedOf(world, at).length
      const event: TransactionEvent | null =
        finalCount > intent.nonce
          ? { kind: 'usurped' }
          : !isInPool && minedCount <= intent.nonce
            ? { kind: 'forgotten' }
            : null
      if (event === null) return []
      return [
        {
          name: `reconcile ${at}.${index} ${event.kind}`,
          world: setIntent(world, at, index, feed(rules, intent, event)),
        },
      ]
    }),
  )

const clocks = (world: World, rules: Rules): Move[] =>
  world.signers.flatMap((signer, at) => {
    const live = signer.intents.flatMap((intent, index) =>
      intent !== null && isLive(intent) ? [{ intent, index }] : [],
    )
    const lowest = live.sort((a, b) => a.intent.nonce - b.intent.nonce)[0]
    if (lowest === undefined || lowest.intent.state.kind !== 'waiting' || !lowest.intent.state.broadcast) return []
    const due = (kind: 'climb_due' | 'expiry_due', what: keyof Budget): Move[] =>
      world.left[what] === 0
        ? []
        : [
            {
              name: `${kind} ${at}.${lowest.index}`,
              world: spend(setIntent(world, at, lowest.index, feed(rules, lowest.intent, { kind })), what),
            },
          ]
    return [...due('climb_due', 'climb'), ...due('expiry_due', 'expire')]
  })

const misfortunes = (world: World): Move[] => {
  const moves: Move[] = []
  if (world.left.crash > 0) {
    const crashed = eachIntent(world, (intent) => ({ ...intent, running: null }))
    const signers = crashed.signers.map((signer) => ({
      ...signer,
      lost: signer.lost.map((lost, index) => lost || signer.prepared[index] !== null),
      prepared: signer.prepared.map(() => null),
    }))
    moves.push({ name: 'crash', world: spend({ ...crashed, signers }, 'crash') })
  }
  for (const [at, signer] of world.signers.entries()) {
    if (world.left.forget > 0 && Object.keys(signer.pool).length > 0) {
      moves.push({ name: `forget ${at}`, world: spend(withSigner(world, at, { pool: {} }), 'forget') })
    }
    for (const [index, intent] of signer.intents.entries()) {
      if (intent === null || intent.jobs === 0) continue
      if (world.left.lostJob > 0) {
        moves.push({
          name: `lose job ${at}.${index}`,
          world: spend(setIntent(world, at, index, { ...intent, jobs: 0 }), 'lostJob'),
        })
      }
      if (world.left.doubledJob > 0) {
        moves.push({
          name: `double job ${at}.${index}`,
          world: spend(setIntent(world, at, index, { ...intent, jobs: 2 }), 'doubledJob'),
        })
      }
    }
  }
  return moves
}

/** Somebody else uses the first signer's key; and a gap that they leave is filled by the signer's next intent. */
const strangers = (world: World): Move[] => {
  const signer = world.signers[0]
  if (signer === undefined) return []
  const moves: Move[] = []
  const first = minedOf(world, 0).length
  const nonces = signer.intents.flatMap((intent) => (intent === null ? [] : [intent.nonce]))
  const highest = Math.max(first, ...nonces.map((nonce) => nonce + 1))
  if (world.left.stranger > 0) {
    for (let nonce = first; nonce <= highest; nonce += 1) {
      const pool = { ...signer.pool, [nonce]: STRANGER }
      moves.push({ name: `stranger at ${nonce}`, world: spend(withSigner(world, 0, { pool }), 'stranger') })
    }
  }
  const stays = Object.entries(signer.pool).filter(([, tx]) => tx !== STRANGER)
  if (stays.length < Object.keys(signer.pool).length) {
    moves.push({ name: 'stranger drops', world: withSigner(world, 0, { pool: Object.fromEntries(stays) }) })
  }
  const live = signer.intents.flatMap((intent) => (intent !== null && isLive(intent) ? [intent.nonce] : []))
  const held = new Set(
    signer.intents.flatMap((intent) => (intent !== null && holdsNonce(intent.state) ? [intent.nonce] : [])),
  )
  const gap = pendingCount(world, 0)
  if (!held.has(gap) && live.some((nonce) => nonce > gap)) {
    const pool = { ...signer.pool, [gap]: STRANGER }
    moves.push({ name: `next intent fills ${gap}`, world: withSigner(world, 0, { pool }) })
  }
  return moves
}

export const movesFrom = (world: World, rules: Rules): readonly Move[] => [
  ...recording(world, rules),
  ...sending(world, rules),
  ...mining(world),
  ...reorganising(world),
  ...tracking(world, rules),
  ...settling(world, rules),
  ...reconciling(world, rules),
  ...clocks(world, rules),
  ...misfortunes(world),
  ...strangers(world),
]

/** What must hold in every state. @returns the sentence that does not. */
export const brokenIn = (world: World): string | null => {
  for (const [at, signer] of world.signers.entries()) {
    const mined = minedOf(world, at)
    const finalMined = minedOf(world, at, finalLength(world))
    const holders = signer.intents.flatMap((intent) =>
      intent !== null && holdsNonce(intent.state) ? [intent.nonce] : [],
    )
    if (new Set(holders).size !== holders.length) return 'two intents hold one nonce'
    for (const [index, intent] of signer.intents.entries()) {
      if (intent === null) continue
      const effects = mined.filter((tx) => ours(tx, index) && attemptOf(tx) !== CANCEL)
      if (effects.length > 1) return 'an intent took effect twice'
      const { state } = intent
      if (state.kind !== 'done') continue
      const finalTx = finalMined[intent.nonce]
      if (state.outcome === 'nonce_taken' && (finalTx === undefined || ours(finalTx, index)))
        return 'told nonce_taken, and it is not'
      if (state.outcome === 'expired' && finalTx !== `${index}.${CANCEL}`)
        return 'told expired, and the cancel is not final'
      if (
        state.outcome === 'success' &&
        !(finalTx !== undefined && ours(finalTx, index) && finalTx !== `${index}.${CANCEL}`)
      ) {
        return 'told success for good, and it is not final'
      }
      if (state.outcome !== 'success' && effects.length > 0) return 'told failed, and it took effect'
    }
  }
  return null
}

const isEnd = (world: World): boolean =>
  world.signers.every((signer) =>
    signer.intents.every((intent, index) => (intent === null ? signer.lost[index] : intent.state.kind === 'done')),
  )

export const statusesOf = (world: World): readonly string[] =>
  world.signers.flatMap((signer) => signer.intents.map((intent) => (intent === null ? 'none' : statusOf(intent.state))))

const fresh = (input: { readonly signers: readonly number[]; readonly budget: Budget }): World => ({
  signers: input.signers.map((count) => ({
    prepared: Array(count).fill(null),
    intents: Array(count).fill(null),
    lost: Array(count).fill(false),
    pool: {},
  })),
  chain: [],
  final: 0,
  tracked: [],
  left: input.budget,
})

/**
 * Walks through every state that can be reached, breadth first.
 * @param input.signers how many intents each signer has.
 * @returns the first broken claim with its shortest history, or that every state has a way to an end.
 */
export const explore = (input: {
  readonly signers: readonly number[]
  readonly budget: Budget
  readonly rules?: Rules
  readonly statesMax: number
}): Report => {
  const rules = input.rules ?? RULES
  const worlds: World[] = [fresh(input)]
  const index = new Map([[JSON.stringify(worlds[0]), 0]])
  const from: { readonly parent: number; readonly move: string }[] = [{ parent: -1, move: 'start' }]
  const back: number[][] = [[]]
  const history = (at: number): string => {
    const moves: string[] = []
    for (let here = at; here > 0; here = from[here]?.parent ?? 0) moves.unshift(from[here]?.move ?? '')
    return moves.join(' → ')
  }
  for (let at = 0; at < worlds.length; at += 1) {
    const world = worlds[at]
    if (world === undefined) break
    const broken = brokenIn(world)
    if (broken !== null) return { states: worlds.length, broken: `${broken}: ${history(at)}` }
    for (const move of movesFrom(world, rules)) {
      const key = JSON.stringify(move.world)
      const known = index.get(key)
      if (known !== undefined) {
        back[known]?.push(at)
        continue
      }
      if (worlds.length >= input.statesMax) throw new Error(`more than ${input.statesMax} states`)
      index.set(key, worlds.length)
      worlds.push(move.world)
      from.push({ parent: at, move: move.name })
      back.push([at])
    }
  }
  const stuck = firstStuck(worlds, back)
  return { states: worlds.length, broken: stuck === null ? null : `no way to an end: ${history(stuck)}` }
}

/** The first state from which no end can be reached. */
const firstStuck = (worlds: readonly World[], back: readonly (readonly number[])[]): number | null => {
  const reaches = new Uint8Array(worlds.length)
  const queue = worlds.flatMap((world, at) => (isEnd(world) ? [at] : []))
  for (const at of queue) reaches[at] = 1
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const before of back[next] ?? []) {
      if (reaches[before] === 1) continue
      reaches[before] = 1
      queue.push(before)
    }
  }
  const stuck = reaches.indexOf(0)
  return stuck === -1 ? null : stuck
}
