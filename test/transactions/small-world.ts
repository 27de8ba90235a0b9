// The plain model: API processes that record intents; jobs; workers that read, send and record, and may die between any
// two of these; a tracker; a reconciler; a node that mines, forgets and is reorganised; a stranger who uses the key
// outside; fees that rise and fall; and clients that speed transactions up. The transitions are made by the running
// code's own function. Time is how long a signer's lowest transaction has waited, in three steps. Everything that may
// happen next happens in some branch. Each fault has a budget: how often it may happen in one history.
//
// This model grows fast; folded-world.ts goes further, and is compared with this one.

import { holdsNonce, type TransactionEvent, type TransactionState } from '../../src/signing/transactions/transition.ts'
import { Broken, type Model, type Move } from '../support/explore.ts'
import {
  attemptsOf,
  FIRST_OFFERS,
  isCancel,
  isPaying,
  ladderOf,
  type Offer,
  type Offers,
  outbids,
  payableOf,
  signedAnew,
  WAYS,
  type Way,
} from './offers.ts'
import {
  brokenOutcome,
  brokenTold,
  FEES,
  type Fee,
  FIRST_STATE,
  feed,
  type Rules,
  WAITS,
  type Waited,
} from './rules.ts'

export const STRANGER = 'x'
const WORKERS_MAX = 2

/** A worker between reading the row and recording the node's answer. */
type Worker = {
  readonly offer: Offer
  /** The refused cancel; a rung is offered before it. */
  readonly inVain?: Offer
  readonly heard: Heard | null
}
/** An observation that a transaction is in a block, or not any more. An attempt is named by its offer. */
type Look = { readonly event: TransactionEvent; readonly blockHash: string | null }
type Heard = 'accepted' | 'refused' | 'nonce_too_low' | 'unknown'

export type Intent = {
  readonly nonce: number
  readonly state: TransactionState
  readonly hasRaw: boolean
  /** Waiting broadcast jobs. */
  readonly jobs: number
  readonly workers: readonly Worker[]
  /** What the reconciler has observed and not yet recorded. */
  readonly look: Look | null
  readonly waited: Waited
  /** It was given up once, and a rung was chosen again. */
  readonly isRevived: boolean
  /** Its cancel was sent to a node, and the answer is recorded. */
  readonly isCancelOffered?: true
  /** Its attempts, if they are not those of the first signature. */
  readonly offers?: Offers
}

export type Signer = {
  /** Requests that have read the chain and not yet recorded: the pending count that each has seen. */
  readonly prepared: readonly (number | null)[]
  /** null: not recorded yet, or never will be. */
  readonly intents: readonly (Intent | null)[]
  readonly lost: readonly boolean[]
  /** By nonce: `intent.attempt`, or the stranger's transaction. */
  readonly pool: Readonly<Record<number, string>>
}

/** `mined` by signer, in nonce order; a reverted transaction ends with `!`. A hash begins with its height. */
export type Block = { readonly hash: string; readonly mined: readonly (readonly string[])[] }

export type SmallWorld = {
  readonly signers: readonly Signer[]
  /** The fee that the next block needs. */
  readonly fee: Fee
  readonly chain: readonly Block[]
  /** The number of final blocks; it never decreases. */
  readonly final: number
  /** The blocks that the tracker has processed. */
  readonly tracked: readonly Block[]
  readonly left: Readonly<Budget>
}

/** How often each fault may happen in one history. */
export type Budget = {
  readonly crash: number
  readonly lostJob: number
  readonly doubledJob: number
  /** A second worker on one intent at the same time. */
  readonly beside: number
  /** The reconciler pauses between its request to the node and recording the answer. */
  readonly stall: number
  /** An answer is lost on its way to the worker. */
  readonly silence: number
  /** The pool of a node is lost. */
  readonly forget: number
  /** A node knows none of our transactions, mined or not. */
  readonly lag: number
  readonly reorg: number
  readonly stranger: number
  readonly revert: number
  /** How often a transaction becomes old enough to climb, and old enough to be given up. */
  readonly climb: number
  readonly expire: number
  /** How often fees rise. */
  readonly fees: number
  /** How often a transaction is sped up. */
  readonly anew: number
  /** How often an operator gives a transaction up. */
  readonly cancel: number
}

/**
 * The confirmations after which a result is reported, counting its own block; and the blocks above it that make it
 * final.
 */
export type Depth = { readonly confirmations: number; readonly final: number }

type SmallMove = Move<SmallWorld>
type At = { readonly at: number; readonly index: number }

const good = (name: string, world: SmallWorld): SmallMove => ({ name, world, isPromised: true })
const chance = (name: string, world: SmallWorld): SmallMove => ({ name, world, isPromised: false })

export const minedOf = (world: SmallWorld, signer: number, upTo = world.chain.length): readonly string[] =>
  world.chain.slice(0, upTo).flatMap((block) => block.mined[signer] ?? [])

export const attemptOf = (tx: string): Offer => Number.parseInt(tx.split('.')[1] ?? '', 10)
export const isReverted = (tx: string): boolean => tx.endsWith('!')
export const isOf = (tx: string, index: number): boolean => tx.split('.')[0] === String(index)
export const heightOf = (hash: string): number => Number.parseInt(hash, 10)

export const pendingCount = (world: SmallWorld, signer: number): number => {
  let count = minedOf(world, signer).length
  while (world.signers[signer]?.pool[count] !== undefined) count += 1
  return count
}

const set = <Item>(list: readonly Item[], at: number, item: Item): readonly Item[] =>
  list.map((each, index) => (index === at ? item : each))

const withSigner = (world: SmallWorld, at: number, change: Partial<Signer>): SmallWorld => ({
  ...world,
  signers: world.signers.map((signer, index) => (index === at ? { ...signer, ...change } : signer)),
})

const spend = (world: SmallWorld, what: keyof Budget): SmallWorld => ({
  ...world,
  left: { ...world.left, [what]: world.left[what] - 1 },
})

const setIntent = (world: SmallWorld, { at, index }: At, intent: Intent): SmallWorld => {
  const signer = world.signers[at]
  return signer === undefined ? world : withSigner(world, at, { intents: set(signer.intents, index, intent) })
}

const offersOf = ({ offers }: Pick<Intent, 'offers'>): Offers => offers ?? FIRST_OFFERS

/** Whether a transaction at a node is one of the intent's attempts. */
const isKnown = (intent: Intent, offer: Offer): boolean => attemptsOf(offersOf(intent)).includes(offer)

/** The event with the attempt's number instead of its offer; null if the intent has no such attempt. */
const numbered = (intent: Intent, event: TransactionEvent): TransactionEvent | null => {
  if (!('attempt' in event)) return event
  const attempts = attemptsOf(offersOf(intent))
  const attempt = attempts.indexOf(event.attempt)
  if (attempt === -1) return null
  return event.kind === 'resumed'
    ? { ...event, attempt, cancel: attempts.indexOf(event.cancel) }
    : { ...event, attempt }
}

/**
 * State and effects are saved in one database transaction; sending is a job in the queue. Observations name an attempt
 * by its offer.
 */
const tell = (rules: Rules, intent: Intent, news: TransactionEvent): Intent => {
  const event = numbered(intent, news)
  if (event === null) return intent
  const { state, isSent, isErased } = feed(rules, intent.state, event, ladderOf(offersOf(intent)))
  const isAfresh = event.kind === 'excluded' || event.kind === 'resumed' || event.kind === 'sped_up'
  return {
    ...intent,
    state,
    isRevived: intent.isRevived || (event.kind === 'resumed' && state !== intent.state),
    waited: isAfresh || state.kind !== 'waiting' ? 0 : intent.waited,
    jobs: isSent ? Math.max(intent.jobs, 1) : intent.jobs,
    hasRaw: intent.hasRaw && !isErased,
  }
}

const recorded = (world: SmallWorld): readonly (At & { readonly intent: Intent; readonly signer: Signer })[] =>
  world.signers.flatMap((signer, at) =>
    signer.intents.flatMap((intent, index) => (intent === null ? [] : [{ at, index, intent, signer }])),
  )

const eachIntent = (world: SmallWorld, change: (intent: Intent, of: At) => Intent): SmallWorld => ({
  ...world,
  signers: world.signers.map((signer, at) => ({
    ...signer,
    intents: signer.intents.map((intent, index) => (intent === null ? null : change(intent, { at, index }))),
  })),
})

const recording = (world: SmallWorld, rules: Rules): SmallMove[] =>
  world.signers.flatMap((signer, at) =>
    signer.intents.flatMap((intent, index): SmallMove[] => {
      if (intent !== null || signer.lost[index]) return []
      const seen = signer.prepared[index] ?? null
      if (seen === null) {
        // The intents are alike, so the first one that has not begun begins.
        const first = signer.intents.findIndex(
          (each, i) => each === null && !signer.lost[i] && signer.prepared[i] === null,
        )
        if (first !== index) return []
        const prepared = set(signer.prepared, index, pendingCount(world, at))
        return [chance(`prepare ${at}.${index}`, withSigner(world, at, { prepared }))]
      }
      const held = new Set(
        signer.intents.flatMap((each) => (each !== null && rules.holdsNonce(each.state) ? [each.nonce] : [])),
      )
      let nonce = seen
      while (held.has(nonce)) nonce += 1
      const fresh: Intent = {
        nonce,
        state: FIRST_STATE,
        hasRaw: true,
        jobs: 1,
        workers: [],
        look: null,
        waited: 0,
        isRevived: false,
      }
      const intents = set(signer.intents, index, fresh)
      const prepared = set(signer.prepared, index, null)
      return [chance(`record ${at}.${index} at ${nonce}`, withSigner(world, at, { intents, prepared }))]
    }),
  )

/** What a node may do with a signed attempt: all known behaviours. */
const offered = (
  world: SmallWorld,
  input: { readonly at: number; readonly nonce: number; readonly tx: string },
): readonly (readonly [SmallWorld, Heard])[] => {
  const { at, nonce, tx } = input
  const signer = world.signers[at]
  if (signer === undefined || nonce < minedOf(world, at).length) return [[world, 'nonce_too_low']]
  const there = signer.pool[nonce]
  const replaced = withSigner(world, at, { pool: { ...signer.pool, [nonce]: tx } })
  // Some nodes refuse an attempt that is too low for the next block, others keep it.
  const refusals: readonly (readonly [SmallWorld, Heard])[] = isPaying(attemptOf(tx), world.fee)
    ? []
    : [[world, 'refused']]
  if (there === undefined || there === tx) return [[replaced, 'accepted'], ...refusals]
  if (there === STRANGER) {
    return [
      [replaced, 'accepted'],
      [world, 'refused'],
    ]
  }
  return outbids(attemptOf(tx), attemptOf(there)) ? [[replaced, 'accepted'], ...refusals] : [[world, 'refused']]
}

const taking = (world: SmallWorld): SmallMove[] =>
  recorded(world).flatMap(({ at, index, intent }) => {
    const { state, hasRaw } = intent
    const isBeside = intent.workers.length > 0
    if (intent.jobs === 0 || intent.workers.length === WORKERS_MAX || (isBeside && world.left.beside === 0)) return []
    const from = isBeside ? spend(world, 'beside') : world
    const idle = { ...intent, jobs: intent.jobs - 1 }
    const name = `take ${at}.${index}`
    if (state.kind !== 'waiting' || !hasRaw) return [good(name, setIntent(from, { at, index }, idle))]
    const works = (worker: Worker) => setIntent(from, { at, index }, { ...idle, workers: [...intent.workers, worker] })
    const offers = offersOf(intent)
    const chosen = attemptsOf(offers)[state.chosen]
    if (chosen === undefined) throw new Broken('an attempt is chosen that was never signed')
    const sends = (isBeside ? chance : good)(name, works({ offer: chosen, heard: null }))
    // A rung that could be mined is offered before a refused cancel.
    const isInVain = state.givenUp === 'expired' && intent.isCancelOffered === true
    const revives = isInVain ? offers.rungs.filter((rung) => isPaying(rung, world.fee)) : []
    return [
      sends,
      ...revives.map((offer) =>
        chance(`${name}, ${offer} first`, works({ offer, inVain: offers.cancel, heard: null })),
      ),
    ]
  })

const sending = (world: SmallWorld): SmallMove[] =>
  recorded(world).flatMap(({ at, index, intent }) =>
    intent.workers.flatMap((worker, which) => {
      const { offer, heard } = worker
      if (heard !== null) return []
      const name = `send ${at}.${index}.${offer}`
      return offered(world, { at, nonce: intent.nonce, tx: `${index}.${offer}` }).flatMap(([next, answer]) => {
        const after = (how: Heard) => {
          const workers = set(intent.workers, which, { ...worker, heard: how })
          return setIntent(next, { at, index }, { ...intent, workers })
        }
        const silent = world.left.silence > 0 ? [chance(`${name}, unheard`, spend(after('unknown'), 'silence'))] : []
        return [good(`${name}, ${answer}`, after(answer)), ...silent]
      })
    }),
  )

/** The event that a worker records for an answer, and whether it tries again. */
const heed = (
  world: SmallWorld,
  rules: Rules,
  input: At & { readonly intent: Intent; readonly worker: Worker },
): Intent => {
  const { at, index, intent, worker } = input
  const again = (next: Intent): Intent => ({ ...next, jobs: Math.max(next.jobs, 1) })
  if (worker.inVain !== undefined) {
    // If it was not accepted, the cancel is sent, by the same job (another job would be the same).
    return worker.heard === 'accepted'
      ? tell(rules, intent, { kind: 'resumed', attempt: worker.offer, cancel: worker.inVain })
      : again(intent)
  }
  switch (worker.heard) {
    case 'accepted':
      return tell(rules, intent, { kind: 'accepted', attempt: worker.offer })
    case 'nonce_too_low': {
      const mined = minedOf(world, at).find((tx) => isOf(tx, index) && isKnown(intent, attemptOf(tx)))
      return mined === undefined ? intent : tell(rules, intent, { kind: 'accepted', attempt: attemptOf(mined) })
    }
    case 'refused':
      return again(tell(rules, intent, { kind: 'underpriced' }))
    case 'unknown':
      return again(rules.onUnknown === null ? intent : tell(rules, intent, rules.onUnknown))
    case null:
      return intent
  }
}

const writing = (world: SmallWorld, rules: Rules): SmallMove[] =>
  recorded(world).flatMap(({ at, index, intent }) =>
    intent.workers.flatMap((worker, which) => {
      if (worker.heard === null) return []
      const workers = intent.workers.filter((_, each) => each !== which)
      const isCancelOffered = worker.offer === offersOf(intent).cancel
      const noted: Intent = { ...intent, workers, ...(isCancelOffered ? { isCancelOffered } : {}) }
      const heeded = heed(world, rules, { at, index, intent: noted, worker })
      return [good(`write ${at}.${index} ${worker.heard}`, setIntent(world, { at, index }, heeded))]
    }),
  )

/** What a miner may take from a pool: any number of consecutive transactions, each of which may revert. */
const takings = (world: SmallWorld, at: number): readonly (readonly string[])[] => {
  const pool = world.signers[at]?.pool ?? {}
  const first = minedOf(world, at).length
  const lists: (readonly string[])[] = [[]]
  for (let nonce = first, longest: (readonly string[])[] = [[]]; pool[nonce] !== undefined; nonce += 1) {
    const tx = pool[nonce] ?? ''
    if (tx !== STRANGER && !isPaying(attemptOf(tx), world.fee)) break
    const intent = world.signers[at]?.intents[Number.parseInt(tx, 10)] ?? null
    const isRung = tx !== STRANGER && intent !== null && !isCancel(offersOf(intent), attemptOf(tx))
    const ways = isRung ? [tx, `${tx}!`] : [tx]
    longest = longest.flatMap((list) => ways.map((way) => [...list, way]))
    lists.push(...longest)
  }
  return lists
}

/** Whether an empty block changes something: it makes a block final, or replaces one that somebody has seen. */
const isBlockAwaited = (world: SmallWorld, depth: Depth): boolean => {
  const seen = recorded(world).flatMap(({ intent: { state, look } }) => [
    ...(state.kind === 'mined' ? [heightOf(state.blockHash) + 1] : []),
    ...(look?.blockHash ? [heightOf(look.blockHash) + 1] : []),
  ])
  return (
    world.chain.slice(world.final).some(({ mined }) => mined.flat().length > 0) ||
    world.chain.length < Math.max(world.tracked.length, world.final === 0 ? 0 : world.final + depth.final, ...seen)
  )
}

const mining = (world: SmallWorld, depth: Depth): SmallMove[] => {
  const blocks = world.signers.reduce<readonly (readonly (readonly string[])[])[]>(
    (lists, _, at) => lists.flatMap((mined) => takings(world, at).map((taken) => [...mined, taken])),
    [[]],
  )
  return blocks.flatMap((mined) => {
    const reverted = mined.flat().filter(isReverted).length
    if (reverted > world.left.revert) return []
    if (mined.flat().length === 0 && !isBlockAwaited(world, depth)) return []
    const hash = `${world.chain.length}:${mined.map((each) => each.join(',')).join(';')}:${world.left.reorg}`
    const chain = [...world.chain, { hash, mined }]
    const signers = world.signers.map((signer, at) => {
      const first = minedOf(world, at).length + (mined[at]?.length ?? 0)
      const pool = Object.fromEntries(Object.entries(signer.pool).filter(([nonce]) => Number(nonce) >= first))
      return { ...signer, pool }
    })
    const final = Math.max(world.final, chain.length - depth.final)
    const left = { ...world.left, revert: world.left.revert - reverted }
    return [good(`mine ${hash}`, { ...world, signers, chain, final, left })]
  })
}

const reorganising = (world: SmallWorld): SmallMove[] => {
  if (world.left.reorg === 0) return []
  return world.chain.slice(world.final).flatMap((_, above) => {
    const shorter = spend({ ...world, chain: world.chain.slice(0, world.final + above) }, 'reorg')
    const restored = shorter.signers.map((signer, at) => {
      const first = minedOf(shorter, at).length
      const back = minedOf(world, at)
        .slice(first)
        .map((tx, index) => [first + index, tx.replace('!', '')])
      return { ...signer, pool: { ...signer.pool, ...Object.fromEntries(back) } }
    })
    const name = `reorg to ${shorter.chain.length}`
    return [chance(`${name}, dropped`, shorter), chance(`${name}, back in the pool`, { ...shorter, signers: restored })]
  })
}

/** Whether the tracker's block is still on the chain. */
export const stands = ({ tracked, chain }: Pick<SmallWorld, 'tracked' | 'chain'>): boolean =>
  tracked.every((block, height) => chain[height]?.hash === block.hash)

const knowsPlace = (world: SmallWorld, rules: Rules): boolean => rules.trustsItsPlace || stands(world)

/** If the chain has other blocks, the tracker goes back to the newest common one. */
export const rewound = (world: SmallWorld, rules: Rules): SmallWorld => {
  const { tracked, chain } = world
  const fork = tracked.findIndex((block, height) => chain[height]?.hash !== block.hash)
  const next = eachIntent(world, (intent) =>
    intent.state.kind === 'mined' && heightOf(intent.state.blockHash) >= fork
      ? tell(rules, intent, { kind: 'excluded' })
      : intent,
  )
  return { ...next, tracked: tracked.slice(0, fork) }
}

const tracking = (world: SmallWorld, rules: Rules): SmallMove[] => {
  const { tracked, chain } = world
  if (!stands(world)) return chain.length < tracked.length ? [] : [good('track: rewind', rewound(world, rules))]
  const height = tracked.length
  const block = chain[height]
  if (block === undefined) return []
  const next = eachIntent(world, (intent, { at, index }) => {
    const { state } = intent
    const isBeside = state.kind === 'mined' && heightOf(state.blockHash) === height && state.blockHash !== block.hash
    const apart = isBeside ? tell(rules, intent, { kind: 'excluded' }) : intent
    const tx = block.mined[at]?.find((each) => isOf(each, index) && isKnown(intent, attemptOf(each)))
    if (tx === undefined) return apart
    return tell(rules, apart, { kind: 'included', attempt: attemptOf(tx), blockHash: block.hash })
  })
  return [good('track: next block', { ...next, tracked: [...tracked, block] })]
}

/** Whether a block at this height is deep enough to report its results, and the tracker has processed it. */
const isDeep = (world: SmallWorld, depth: Depth, height: number): boolean =>
  height < Math.min(world.tracked.length, world.chain.length - depth.confirmations + 1)

const settling = (world: SmallWorld, rules: Rules, depth: Depth): SmallMove[] =>
  recorded(world).flatMap(({ at, index, intent }) => {
    const { state } = intent
    if (state.kind !== 'mined' || !knowsPlace(world, rules)) return []
    const { blockHash } = state
    const height = heightOf(blockHash)
    const block = world.chain[height]
    const told = (event: TransactionEvent) =>
      good(`${event.kind} ${at}.${index}`, setIntent(world, { at, index }, tell(rules, intent, event)))
    const tx = block?.hash === blockHash ? block.mined[at]?.find((each) => isOf(each, index)) : undefined
    const isReceiptDue = state.result === null && tx !== undefined && isDeep(world, depth, height)
    return [
      ...(isReceiptDue
        ? [told({ kind: 'confirmed', blockHash, failure: isReverted(tx) ? 'execution_reverted' : null })]
        : []),
      ...(height < Math.min(world.tracked.length, world.final) ? [told({ kind: 'finalized', blockHash })] : []),
    ]
  })

/** The reconciler's observation of a node; `knows`: whether the node knows our transactions. */
const lookOf = (
  world: SmallWorld,
  rules: Rules,
  input: At & { readonly intent: Intent; readonly signer: Signer; readonly knows: boolean },
): Look | null => {
  const { at, index, intent, signer, knows } = input
  const { state, nonce } = intent
  if (state.kind === 'done') return null
  const isMet = (each: string): boolean => isOf(each, index) && isKnown(intent, attemptOf(each))
  const found = world.chain.find((block) => knows && block.mined[at]?.some(isMet))
  const tx = found?.mined[at]?.find(isMet)
  if (found !== undefined && tx !== undefined) {
    const { hash: blockHash } = found
    return { event: { kind: 'included', attempt: attemptOf(tx), blockHash }, blockHash }
  }
  if (state.kind === 'mined') {
    const there = world.chain[heightOf(state.blockHash)]
    const isGone = there !== undefined && there.hash !== state.blockHash
    return isGone || rules.believesSilence ? { event: { kind: 'excluded' }, blockHash: state.blockHash } : null
  }
  if (knows && signer.pool[nonce] === `${index}.${attemptsOf(offersOf(intent))[state.chosen]}`) return null
  const isUsed = minedOf(world, at, world.final).length > nonce
  const isTaken = isUsed && knowsPlace(world, rules) && world.tracked.length >= world.final
  return { event: { kind: isTaken ? 'nonce_taken' : 'dropped' }, blockHash: null }
}

const looking = (world: SmallWorld, rules: Rules): SmallMove[] => {
  if (recorded(world).some(({ intent }) => intent.look !== null)) return []
  return recorded(world).flatMap((of) => {
    const { at, index, intent } = of
    if (intent.state.kind === 'mined' && intent.state.result !== null) return []
    const looks = (from: SmallWorld, knows: boolean): SmallMove[] => {
      const look = lookOf(from, rules, { ...of, knows })
      if (look === null) return []
      const name = `look at ${at}.${index}: ${look.event.kind}`
      const held = setIntent(from, { at, index }, { ...intent, look })
      const stalled = from.left.stall > 0 ? [chance(`${name}, stalled`, spend(held, 'stall'))] : []
      return [(knows ? good : chance)(name, written(held, rules, { at, index, intent, look })), ...stalled]
    }
    return [...looks(world, true), ...(world.left.lag > 0 ? looks(spend(world, 'lag'), false) : [])]
  })
}

/** Records an observation, unless the transaction is not in that block or the tracker has passed it. */
const written = (
  world: SmallWorld,
  rules: Rules,
  input: At & { readonly intent: Intent; readonly look: Look },
): SmallWorld => {
  const { at, index, intent, look } = input
  const { event, blockHash } = look
  const seen = { ...intent, look: null }
  const isPassed = event.kind === 'included' && heightOf(event.blockHash) < world.tracked.length
  const isElsewhere = event.kind === 'excluded' && intent.state.kind === 'mined' && intent.state.blockHash !== blockHash
  const isDropped = isElsewhere || (isPassed && !rules.takesStaleNews)
  return setIntent(world, { at, index }, isDropped ? seen : tell(rules, seen, event))
}

const goingOn = (world: SmallWorld, rules: Rules): SmallMove[] =>
  recorded(world).flatMap(({ at, index, intent }) =>
    intent.look === null
      ? []
      : [good(`reconcile ${at}.${index}`, written(world, rules, { at, index, intent, look: intent.look }))],
  )

const clocks = (world: SmallWorld, rules: Rules): SmallMove[] =>
  world.signers.flatMap((_, at) => {
    const live = recorded(world).filter((of) => of.at === at && of.intent.state.kind === 'waiting')
    const lowest = live.sort((a, b) => a.intent.nonce - b.intent.nonce)[0]
    if (lowest === undefined) return []
    const { index, intent } = lowest
    const waits = (waited: 1 | 2, what: 'climb' | 'expire'): SmallMove[] => {
      if (world.left[what] === 0 || intent.waited >= waited) return []
      return [chance(`${what} ${at}.${index}`, spend(setIntent(world, { at, index }, { ...intent, waited }), what))]
    }
    const offers = offersOf(intent)
    const payable = payableOf(offers, world.fee)
    const { rungs, isFixed } = ladderOf(offers)
    // While blocks could accept none of it, no time passes.
    const isTakenByNone = payable >= rungs + (isFixed ? 1 : 0)
    const event = { kind: 'clock', due: WAITS[intent.waited] ?? null, payable } as const
    const seen = tell(rules, intent, event)
    const looked = isTakenByNone ? { ...seen, waited: 0 as const } : seen
    const looks = good(`clock ${at}.${index}`, setIntent(world, { at, index }, looked))
    return [looks, ...waits(1, 'climb'), ...waits(2, 'expire')]
  })

/** Fees rise; it is certain that they fall again. */
const fees = (world: SmallWorld, levels: readonly Fee[]): SmallMove[] =>
  levels.flatMap((fee) => {
    if (fee === world.fee || (fee > world.fee && world.left.fees === 0)) return []
    const name = `fees ${fee > world.fee ? 'rise' : 'fall'} to ${fee}`
    return fee > world.fee ? [chance(name, spend({ ...world, fee }, 'fees'))] : [good(name, { ...world, fee })]
  })

const givingUp = (world: SmallWorld, rules: Rules): SmallMove[] =>
  world.left.cancel === 0
    ? []
    : recorded(world).map(({ at, index, intent }) =>
        chance(
          `an operator gives up ${at}.${index}`,
          spend(setIntent(world, { at, index }, tell(rules, intent, { kind: 'cancel_requested' })), 'cancel'),
        ),
      )

/** Speeds a waiting transaction up; one that was given up is sent again. */
const signingAnew = (world: SmallWorld, rules: Rules, ways: readonly Way[]): SmallMove[] =>
  recorded(world).flatMap(({ at, index, intent }) => {
    const { state, isCancelOffered = false, offers: _, ...rest } = intent
    if (world.left.anew === 0 || state.kind !== 'waiting') return []
    return ways.map((way) => {
      const { offers, first } = signedAnew(rules, {
        ...{ before: offersOf(intent), state, isCancelOffered, way },
        fee: world.fee,
      })
      const fresh: Intent = { ...rest, state: { ...state, givenUp: null }, offers }
      const next = setIntent(world, { at, index }, tell(rules, fresh, { kind: 'sped_up', first }))
      return chance(`sign ${at}.${index} anew, ${way}: ${attemptsOf(offers).slice(first)}`, spend(next, 'anew'))
    })
  })

/** All processes die at once: their memory is lost, and their jobs are in the queue again. */
const crashing = (world: SmallWorld): SmallMove[] => {
  if (world.left.crash === 0) return []
  const crashed = eachIntent(world, (intent) => ({
    ...intent,
    workers: [],
    look: null,
    jobs: Math.min(intent.jobs + intent.workers.length, WORKERS_MAX),
  }))
  const signers = crashed.signers.map((signer) => ({
    ...signer,
    lost: signer.lost.map((lost, index) => lost || signer.prepared[index] !== null),
    prepared: signer.prepared.map(() => null),
  }))
  return [chance('crash', spend({ ...crashed, signers }, 'crash'))]
}

const misfortunes = (world: SmallWorld): SmallMove[] => {
  const moves: SmallMove[] = crashing(world)
  for (const [at, signer] of world.signers.entries()) {
    if (world.left.forget > 0 && Object.keys(signer.pool).length > 0) {
      moves.push(chance(`forget ${at}`, spend(withSigner(world, at, { pool: {} }), 'forget')))
    }
  }
  for (const { at, index, intent } of recorded(world)) {
    if (intent.jobs === 0) continue
    const jobs = (count: number) => setIntent(world, { at, index }, { ...intent, jobs: count })
    if (world.left.lostJob > 0) moves.push(chance(`lose job ${at}.${index}`, spend(jobs(0), 'lostJob')))
    if (world.left.doubledJob > 0) moves.push(chance(`double job ${at}.${index}`, spend(jobs(2), 'doubledJob')))
  }
  return moves
}

/** Somebody else uses a key. If this leaves a gap, the signer's next intent fills it. */
const strangers = (world: SmallWorld, rules: Rules): SmallMove[] =>
  world.signers.flatMap((signer, at) => {
    const moves: SmallMove[] = []
    const first = minedOf(world, at).length
    const intents = signer.intents.flatMap((intent) => (intent === null ? [] : [intent]))
    const highest = Math.max(first, ...intents.map(({ nonce }) => nonce + 1))
    for (let nonce = first; world.left.stranger > 0 && nonce <= highest; nonce += 1) {
      const pool = { ...signer.pool, [nonce]: STRANGER }
      moves.push(chance(`stranger at ${at}:${nonce}`, spend(withSigner(world, at, { pool }), 'stranger')))
    }
    const stays = Object.entries(signer.pool).filter(([, tx]) => tx !== STRANGER)
    if (stays.length < Object.keys(signer.pool).length) {
      moves.push(chance('stranger drops', withSigner(world, at, { pool: Object.fromEntries(stays) })))
    }
    const gap = pendingCount(world, at)
    const isHeld = intents.some(({ nonce, state }) => nonce === gap && rules.holdsNonce(state))
    if (!isHeld && intents.some(({ nonce, state }) => state.kind === 'waiting' && nonce > gap)) {
      const pool = { ...signer.pool, [gap]: STRANGER }
      moves.push(good(`next intent fills ${at}:${gap}`, withSigner(world, at, { pool })))
    }
    return moves
  })

/** Claims about every state. @returns the violated one. */
const brokenIn = (world: SmallWorld): string | null => {
  for (const [at, signer] of world.signers.entries()) {
    const held = signer.intents.flatMap((each) => (each !== null && holdsNonce(each.state) ? [each.nonce] : []))
    if (new Set(held).size !== held.length) return 'two intents hold one nonce'
    const final = minedOf(world, at, world.final)
    for (const [index, intent] of signer.intents.entries()) {
      if (intent === null) continue
      const mined = minedOf(world, at).filter((tx) => isOf(tx, index))
      if (mined.length > 1) return 'an intent was mined twice'
      const broken = brokenIntent(intent, { world, at, index, final })
      if (broken !== null) return broken
    }
  }
  return null
}

const brokenIntent = (
  intent: Intent,
  of: At & { readonly world: SmallWorld; readonly final: readonly string[] },
): string | null => {
  const { state, nonce } = intent
  const { world, at, index } = of
  const offers = offersOf(intent)
  if (state.kind === 'done') {
    const tx = of.final[nonce]
    if (tx === undefined) return brokenOutcome(state.outcome, null)
    const by = isOf(tx, index) ? (isCancel(offers, attemptOf(tx)) ? 'cancel' : 'rung') : 'stranger'
    return brokenOutcome(state.outcome, { by, reverted: isReverted(tx) })
  }
  const there = minedOf(world, at)[nonce] ?? world.signers[at]?.pool[nonce]
  const own = there !== undefined && isOf(there, index) ? [attemptOf(there)] : []
  const isForgotten = [...own, ...intent.workers.map(({ offer }) => offer)].some((offer) => !isKnown(intent, offer))
  if (isForgotten) return 'what was sent is not known any more'
  // The tracker may still report what it has not noticed yet.
  if (state.kind === 'waiting' || state.result === null || !stands(world)) return null
  const block = world.chain[heightOf(state.blockHash)]
  if (block === undefined || block.hash !== state.blockHash) return 'told of a block that is gone'
  const tx = block.mined[at]?.find((each) => isOf(each, index)) ?? ''
  return brokenTold(state, { reverted: isReverted(tx) }, ladderOf(offers))
}

const isEnd = (world: SmallWorld): boolean => recorded(world).every(({ intent }) => intent.state.kind === 'done')

/** Worlds share unchanged parts: each part is stored once, and equal parts have the same number. */
const createKey = (): ((world: SmallWorld) => string) => {
  const numberOfText = new Map<string, number>()
  const numberOfPart = new WeakMap<object, number>()
  const numberOf = (part: object): number => {
    const known = numberOfPart.get(part)
    if (known !== undefined) return known
    const text = JSON.stringify(part)
    const number = numberOfText.get(text) ?? numberOfText.size
    numberOfText.set(text, number)
    numberOfPart.set(part, number)
    return number
  }
  const signerKey = ({ prepared, intents, lost, pool }: Signer): readonly (number | string)[] => [
    ...intents.map((intent) => (intent === null ? '' : numberOf(intent))),
    ...[prepared, lost, pool].map(numberOf),
  ]
  return ({ signers, fee, chain, final, tracked, left }) =>
    `${signers.map(signerKey).join(';')};${fee};${numberOf(chain)};${final};${numberOf(tracked)};${numberOf(left)}`
}

/** The plain model. @param input.signers how many intents each signer has. */
export const smallWorld = (input: {
  readonly signers: readonly number[]
  readonly budget: Partial<Budget>
  readonly rules: Rules
  readonly depth?: Depth
  /** The fees that blocks may need. */
  readonly levels?: readonly Fee[]
  /** The kinds of speed-up. */
  readonly ways?: readonly Way[]
}): Model<SmallWorld> => {
  const { rules, depth = { confirmations: 1, final: 1 }, levels = FEES, ways = WAYS } = input
  return {
    start: {
      signers: input.signers.map((count) => ({
        prepared: Array(count).fill(null),
        intents: Array(count).fill(null),
        lost: Array(count).fill(false),
        pool: {},
      })),
      fee: 0,
      chain: [],
      final: 0,
      tracked: [],
      left: { ...NOTHING, ...input.budget },
    },
    key: createKey(),
    movesFrom: (world) => [
      ...recording(world, rules),
      ...taking(world),
      ...sending(world),
      ...writing(world, rules),
      ...mining(world, depth),
      ...reorganising(world),
      ...tracking(world, rules),
      ...settling(world, rules, depth),
      ...looking(world, rules),
      ...goingOn(world, rules),
      ...clocks(world, rules),
      ...fees(world, levels),
      ...signingAnew(world, rules, ways),
      ...givingUp(world, rules),
      ...misfortunes(world),
      ...strangers(world, rules),
    ],
    brokenIn,
    isEnd,
  }
}

const NOTHING: Budget = {
  ...{ crash: 0, lostJob: 0, doubledJob: 0, beside: 0, stall: 0, silence: 0, forget: 0, lag: 0 },
  ...{ reorg: 0, stranger: 0, revert: 0, climb: 0, expire: 0, fees: 0, anew: 0, cancel: 0 },
}
