// Maps a state of the plain model to the states of the folded model that represent it, signer by signer.

import {
  type Bounds,
  canonical,
  createSteps,
  EMPTY,
  type Folded,
  GONE,
  HERE,
  isIn,
  kept,
  NOBODY,
  REVERTED,
  type Slot,
  SOMEBODY,
} from './folded-world.ts'
import { RULES } from './rules.ts'
import {
  attemptOf,
  heightOf,
  type Intent,
  isOf,
  isReverted,
  minedOf,
  pendingCount,
  rewound,
  type SmallWorld,
  STRANGER,
  stands,
} from './small-world.ts'

const STEPS = createSteps(RULES)

const slotOf = (world: SmallWorld, at: number, nonce: number): Slot => {
  const signer = world.signers[at]
  const tx = minedOf(world, at)[nonce] ?? signer?.pool[nonce]
  const there =
    tx === undefined ? NOBODY : tx === STRANGER ? SOMEBODY : attemptOf(tx) + 1 + (isReverted(tx) ? REVERTED : 0)
  // A taken nonce may have been given to another intent: a done transaction holds none.
  const here = signer?.intents.filter((intent) => intent?.nonce === nonce) ?? []
  const intent =
    here.find((each) => each?.state.kind !== 'done') ??
    here.find((each) => tx !== undefined && isOf(tx, signer?.intents.indexOf(each) ?? -1)) ??
    here[0] ??
    null
  if (intent === null) return { ...EMPTY, there }
  const { isRevived } = intent
  return {
    state: relabelled(world, intent),
    hasRaw: intent.hasRaw,
    there,
    stale: staleOf(world, intent),
    isRevived,
  }
}

const isInChain = (world: SmallWorld, hash: string): boolean => world.chain[heightOf(hash)]?.hash === hash

const relabelled = (world: SmallWorld, { state }: Intent) => {
  if (state.kind === 'done') return kept(state)
  const givenUp = state.givenUp === null ? null : 'expired'
  if (state.kind === 'waiting') return kept({ ...state, givenUp })
  return kept({ ...state, givenUp, blockHash: isInChain(world, state.blockHash) ? HERE : GONE })
}

const staleOf = ({ tracked, ...world }: SmallWorld, { look }: Intent): number | null => {
  if (look?.event.kind !== 'included' || isInChain({ tracked, ...world }, look.event.blockHash)) return null
  return tracked[heightOf(look.event.blockHash)] === undefined ? look.event.attempt : null
}

/** Removes what only the reconciler has recorded or observed. */
const unlooked = (slot: Slot): Slot => {
  const { state } = slot
  if (state?.kind !== 'mined') return { ...slot, stale: null }
  return {
    ...slot,
    stale: null,
    state: kept({ kind: 'waiting', chosen: state.chosen, givenUp: state.givenUp, broadcast: true }),
  }
}

/**
 * The folded states that may represent one signer's part of a world: for each observation of the reconciler a list, of
 * which one must have been reached. States with more remaining chances, or with a higher count, only allow more.
 */
export const foldsOf = (
  unsettled: SmallWorld,
  input: Bounds & { readonly at: number },
): readonly (readonly string[])[] => {
  const { at, intents, strangers, reorgs } = input
  const world = stands(unsettled) ? unsettled : rewound(unsettled, RULES)
  const signer = world.signers[at]
  if (signer === undefined) return []
  const tracked = minedOf({ ...world, chain: world.tracked }, at).length
  const slots = Array.from({ length: intents + strangers }, (_, nonce) => slotOf(world, at, nonce))
  const common = {
    requests: signer.intents.filter((intent) => intent === null).length,
    mined: minedOf(world, at).length,
    final: minedOf(world, at, world.final).length,
    tracked,
    isOpen: true,
  }
  const isLook = (slot: Slot, nonce: number) =>
    slot.stale !== null || isIn(slot, GONE) || (nonce >= tracked && slot.state?.kind === 'mined')
  const looks = slots.flatMap((slot, nonce) => (isLook(slot, nonce) ? [nonce] : []))
  return (looks.length === 0 ? [-1] : looks).map((look) => {
    const seenThrough = slots.map((slot, nonce) => (nonce !== look && isLook(slot, nonce) ? unlooked(slot) : slot))
    const texts: string[] = []
    const lowest = Math.max(pendingCount(world, at), ...signer.prepared.map((seen) => seen ?? 0))
    for (let seen = lowest; seen <= slots.length; seen += 1) {
      for (let left = world.left.stranger; left <= strangers; left += 1) {
        for (let more = world.left.reorg; more <= reorgs; more += 1) {
          const one: Folded = { ...common, seen, strangers: left, reorgs: more, slots: seenThrough }
          texts.push(canonical(one, STEPS))
        }
      }
    }
    return texts
  })
}
