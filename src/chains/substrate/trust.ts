// Decides which metadata we may sign with. Metadata maps bytes to calls, so with false metadata a node could make us
// sign a transfer as another call. No node is trusted with this, and neither are several that agree: we do not know
// whose they are. One of these is needed:
//
// 1. The signature covers the metadata hash (RFC 78, CheckMetadataHash in mode 1). The runtime checks the signature
//    with its own hash, so no block accepts an extrinsic that was made with other metadata. This needs no trust in any
//    node, because
//    - the signed payload ends in spec version, transaction version, genesis hash, hash of the era's first block, 1,
//      and the metadata hash (`BOUND`). A runtime without the extension, or in mode 0, would expect a block hash there;
//    - the hash covers the types of all calls, addresses, signatures and extensions. The list of pallets must agree
//      with them (runtime.ts), and each call made here is decoded again by those types (codec.ts).
// 2. The operator pinned the BLAKE2b-256 of this version's metadata in the configuration.
//
// 1 is used wherever the runtime supports it. A runtime may have the extension but be built without its hash. It then
// accepts only mode 0, and answers CannotLookup in mode 1. We do not switch to mode 0 on the word of a node: that needs
// 2 as well, and without it nothing is signed. So a node that lies about this can only stop us from signing.

import { isDeepStrictEqual } from 'node:util'
import { merkleizeMetadata } from '@polkadot-api/merkleize-metadata'
import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, SubstrateUnsigned } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { assemble } from './extrinsic.ts'
import { harmlessCall, NO_SIGNATURE } from './query-fee.ts'
import type { MetadataPins, Runtime } from './runtime.ts'
import { toHex } from './scale.ts'
import type { Part } from './signed-extensions.ts'

/** The implicit parts of a payload that covers the metadata hash: exactly these, in this order. */
const BOUND: readonly Part[] = ['spec_version', 'transaction_version', 'genesis_hash', 'birth_hash', 'metadata_hash']

/** Older metadata lacks some of the data that is hashed. */
const HASHED_METADATA_VERSION_MIN = 15

/** How long a refusal is remembered. A new decision asks a node for the whole metadata. */
const REFUSED_MS = 5_000

/**
 * RFC 78, from the metadata and the coin of the network. If the version, name or SS58 prefix in the metadata are false,
 * the hash does not match the runtime's. @throws Error for metadata that is older than version 15 or inconsistent.
 * Pure.
 */
export const metadataHashOf = (
  { bytes: metadata }: Pick<Runtime, 'bytes'>,
  { coin, hashedSymbol }: Pick<SubstrateNetworkRow, 'coin' | 'hashedSymbol'>,
): Hex => toHex(merkleizeMetadata(metadata, { decimals: coin.decimals, tokenSymbol: hashedSymbol }).digest())

export const coversMetadata = ({ form, metadata }: Pick<Runtime, 'form' | 'metadata'>): boolean =>
  form.extra.includes('metadata_mode') && metadata.version >= HASHED_METADATA_VERSION_MIN

/** TransactionSource::External of sp_runtime. */
const EXTERNAL = '02'
/** Result::Err, TransactionValidityError::Unknown, UnknownTransaction::CannotLookup. */
const CANNOT_LOOK_UP = '0x010100'
const ANY_HASH: Hex = `0x${'00'.repeat(32)}`

/**
 * Whether the runtime was built without its metadata hash: it validates an extrinsic in mode 1 with a false signature.
 * A runtime with a hash refuses the signature; one without answers CannotLookup.
 */
const lacksHashQuestion = ({ runtime, draft, blockHash }: HashInput): Question<boolean> => {
  const { raw } = assemble({ ...draft, call: harmlessCall(runtime), metadataHash: ANY_HASH }, NO_SIGNATURE)
  const input = `0x${EXTERNAL}${raw.slice(2)}${blockHash.slice(2)}`
  return question(
    'state_call',
    ['TaggedTransactionQueue_validate_transaction', input, blockHash],
    (answer) => bytes(answer) === CANNOT_LOOK_UP,
  )
}

/** `draft` is any extrinsic of the runtime, complete except for its signature. */
type HashInput = { readonly runtime: Runtime; readonly draft: SubstrateUnsigned; readonly blockHash: Hex }

export type Trust = {
  /**
   * The metadata hash to sign; null if the runtime cannot check a hash but the metadata is pinned.
   * @throws metadata_untrusted if nothing may be signed with this metadata.
   */
  metadataHash(input: HashInput): Promise<Hex | null>
  /** Whether the operator confirmed this metadata. Then signatures need not cover it. */
  isPinned(runtime: Runtime): boolean
}

type Decision = { readonly hash: Promise<Hex | null>; againAtMs: number }

/** @param input.nowMs a monotonic clock, in milliseconds. */
export const createTrust = (input: {
  readonly row: SubstrateNetworkRow
  readonly rpc: Rpc
  readonly pins: MetadataPins
  readonly nowMs?: () => number
}): Trust => {
  const { row, rpc, pins, nowMs = () => performance.now() } = input
  const decided = new WeakMap<Runtime, Decision>()

  const untrusted = ({ specName, specVersion }: Runtime, why: string, cause?: unknown): AppError =>
    new AppError(
      'metadata_untrusted',
      `Nothing is signed on ${row.network} with the metadata of runtime ${specName} ${specVersion}: ${why}.`,
      { cause },
    )

  const isPinned = ({ specVersion, bytesHash }: Runtime): boolean => pins.get(specVersion) === bytesHash

  const requirePin = (runtime: Runtime, why: string): void => {
    if (!isPinned(runtime)) throw untrusted(runtime, `${why}, and it is not pinned`)
  }

  const decide = async (input: HashInput): Promise<Hex | null> => {
    const { runtime } = input
    if (!coversMetadata(runtime)) {
      requirePin(runtime, 'its signatures do not cover the metadata')
      return null
    }
    let hash: Hex
    try {
      hash = metadataHashOf(runtime, row)
    } catch (error) {
      throw untrusted(runtime, 'its hash cannot be computed', error)
    }
    if (!isDeepStrictEqual(runtime.form.implicit, BOUND))
      requirePin(runtime, 'its signatures cover more than is known here')
    if (!(await rpc.ask(lacksHashQuestion(input)))) return hash
    requirePin(runtime, 'it was built without the hash that signatures would cover')
    return null
  }

  const metadataHash: Trust['metadataHash'] = (input) => {
    const known = decided.get(input.runtime)
    if (known !== undefined && nowMs() < known.againAtMs) return known.hash
    const decision: Decision = { hash: decide(input), againAtMs: Number.POSITIVE_INFINITY }
    decided.set(input.runtime, decision)
    decision.hash.catch((error) => {
      // A node that failed to answer may be asked again at once.
      const isRefused = error instanceof AppError && error.code === 'metadata_untrusted'
      decision.againAtMs = isRefused ? nowMs() + REFUSED_MS : 0
    })
    return decision.hash
  }
  return { metadataHash, isPinned }
}
