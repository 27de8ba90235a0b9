// By which metadata may be signed. Metadata says which bytes are which call, so whoever hands out false metadata has a transfer
// signed as another call. A node's word alone is never enough. What is:
//
// 1. The signature covers the metadata's hash (RFC 78, CheckMetadataHash in mode 1). A runtime puts its own hash in that place
//    when it checks the signature, so what was made by other metadata is taken by no block. Then nobody has to be believed:
//    - what is signed ends in spec version, transaction version, genesis hash, hash of the era's first block, 1, and the hash
//      (`BOUND`). A runtime without the extension, or in mode 0, would look for a block's hash where the hash is;
//    - the hash covers the types of all calls, addresses, signatures and extensions. The list of pallets must agree with them
//      (runtime.ts), and each call that is made here is read again by those types (made-call.ts).
// 2. The operator vouches for it: the BLAKE2b-256 of the metadata of this version is pinned in the configuration.
// 3. A second node gives the very same bytes. To lie, both nodes must.
//
// 1 is chosen wherever the runtime has it. A runtime may have the extension, and be built without its hash; it then takes
// mode 0 alone, and says so (CannotLookup) to whoever asks. One node's word for this never leads to mode 0: that takes 2 or 3.
// Without them nothing is signed. A node that lies about it can only keep us from signing.

import { merkleizeMetadata } from '@polkadot-api/merkleize-metadata'
import { AppError } from '../../errors.ts'
import type { Hex, SubstrateUnsigned } from '../chain.ts'
import type { SubstrateNetworkRow } from '../networks.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { assemble, toHex } from './extrinsic.ts'
import { askMetadata, type MetadataPins, type Runtime, versionQuestion } from './runtime.ts'
import type { Part } from './signed-extensions.ts'
import { finalizedHashQuestion } from './storage.ts'
import { harmlessCall } from './weigh.ts'

/** What is only signed, where it binds the metadata: this, in this order, and nothing behind it. */
const BOUND: readonly Part[] = ['spec_version', 'transaction_version', 'genesis_hash', 'birth_hash', 'metadata_hash']

/** Older metadata does not say all that is hashed. */
const HASHED_METADATA_VERSION_MIN = 15

/** A refusal holds for so long: to look again is to ask a node for all of the metadata. */
const REFUSED_MS = 5_000

/**
 * The hash of the metadata by RFC 78, of its own bytes and of what we know of the coin. Version, name and SS58 prefix of the
 * runtime are those in the metadata: where they are false, the hash is not the runtime's.
 * @throws Error for metadata that is older than version 15, or does not hang together. Pure.
 */
export const metadataHashOf = (
  { bytes: metadata }: Pick<Runtime, 'bytes'>,
  { coin, hashedSymbol }: Pick<SubstrateNetworkRow, 'coin' | 'hashedSymbol'>,
): Hex => toHex(merkleizeMetadata(metadata, { decimals: coin.decimals, tokenSymbol: hashedSymbol }).digest())

/** Whether signatures can cover the metadata's hash. Pure. */
export const coversMetadata = ({ form, metadata }: Pick<Runtime, 'form' | 'metadata'>): boolean =>
  form.extra.includes('metadata_mode') && metadata.version >= HASHED_METADATA_VERSION_MIN

const isBound = ({ form: { implicit } }: Runtime): boolean =>
  implicit.length === BOUND.length && BOUND.every((part, index) => implicit[index] === part)

/** From outside, as extrinsics come to a node (sp_runtime, TransactionSource). */
const EXTERNAL = '02'
/** Result::Err, TransactionValidityError::Unknown, UnknownTransaction::CannotLookup. */
const CANNOT_LOOK_UP = '0x010100'
const NO_SIGNATURE = new Uint8Array(64).fill(1)
const ANY_HASH: Hex = `0x${'00'.repeat(32)}`

/**
 * Whether the runtime was built without its hash. It is asked to judge an extrinsic in mode 1 with a false signature: a
 * runtime with a hash refuses the signature, one without says that it cannot look its hash up.
 */
const lacksHashQuestion = ({ runtime, draft, blockHash }: Asked): Question<boolean> => {
  const { raw } = assemble({ ...draft, call: harmlessCall(runtime), metadataHash: ANY_HASH }, NO_SIGNATURE)
  const input = `0x${EXTERNAL}${raw.slice(2)}${blockHash.slice(2)}`
  return question(
    'state_call',
    ['TaggedTransactionQueue_validate_transaction', input, blockHash],
    (answer) => bytes(answer) === CANNOT_LOOK_UP,
  )
}

/** Who vouches for a runtime's metadata beside the node. */
type TrustInput = {
  readonly row: SubstrateNetworkRow
  readonly rpc: Rpc
  readonly pins: MetadataPins
  /** Another node of the same network; null where there is none. */
  readonly second: Rpc | null
  /** A clock that only goes forward, in milliseconds. */
  readonly nowMs?: () => number
}

/** @param draft any extrinsic of the runtime, complete but for its signature. */
type Asked = { readonly runtime: Runtime; readonly draft: SubstrateUnsigned; readonly blockHash: Hex }

export type Trust = {
  /**
   * The hash of the metadata that must be signed; null where the metadata is vouched for, and no hash can be signed.
   * @throws metadata_untrusted where nothing may be signed by this metadata; node_unavailable.
   */
  metadataHash(asked: Asked): Promise<Hex | null>
}

type Decision = { readonly hash: Promise<Hex | null>; againAtMs: number }

export const createTrust = (input: TrustInput): Trust => {
  const { row, rpc, pins, second, nowMs = () => performance.now() } = input
  const decided = new WeakMap<Runtime, Decision>()

  const untrusted = ({ specName, specVersion }: Runtime, why: string, cause?: unknown): AppError =>
    new AppError(
      'metadata_untrusted',
      `Nothing is signed on ${row.network} by the metadata of runtime ${specName} ${specVersion}: ${why}.`,
      { cause },
    )

  /** @throws metadata_untrusted. */
  const hashed = (runtime: Runtime): Hex => {
    try {
      return metadataHashOf(runtime, row)
    } catch (error) {
      throw untrusted(runtime, 'its hash cannot be computed', error)
    }
  }

  /** Whether a second node is of this version, and has the same metadata for it. */
  const agrees = async (node: Rpc, { specVersion, bytes: own }: Runtime): Promise<boolean> => {
    const final = await node.ask(finalizedHashQuestion)
    const version = await node.ask(versionQuestion(final))
    return version.specVersion === specVersion && (await askMetadata(node, final)) === toHex(own)
  }

  /** @throws metadata_untrusted. */
  const needVouching = async (runtime: Runtime, why: string): Promise<void> => {
    if (pins.get(runtime.specVersion) === runtime.bytesHash) return
    if (second === null) throw untrusted(runtime, `${why}, it is not pinned, and there is no second node to confirm it`)
    if (!(await agrees(second, runtime))) {
      throw untrusted(runtime, `${why}, it is not pinned, and the second node does not give the same`)
    }
  }

  const decide = async (asked: Asked): Promise<Hex | null> => {
    const { runtime } = asked
    if (!coversMetadata(runtime)) {
      await needVouching(runtime, 'its signatures do not cover the metadata')
      return null
    }
    const hash = hashed(runtime)
    if (!isBound(runtime)) await needVouching(runtime, 'its signatures cover more than is known here')
    if (!(await rpc.ask(lacksHashQuestion(asked)))) return hash
    await needVouching(runtime, 'it was built without the hash that signatures would cover')
    return null
  }

  const metadataHash: Trust['metadataHash'] = (asked) => {
    const known = decided.get(asked.runtime)
    if (known !== undefined && nowMs() < known.againAtMs) return known.hash
    const decision: Decision = { hash: decide(asked), againAtMs: Number.POSITIVE_INFINITY }
    decided.set(asked.runtime, decision)
    decision.hash.catch((error) => {
      // A node that could not be asked is asked again at once.
      const isRefused = error instanceof AppError && error.code === 'metadata_untrusted'
      decision.againAtMs = isRefused ? nowMs() + REFUSED_MS : 0
    })
    return decision.hash
  }
  return { metadataHash }
}
