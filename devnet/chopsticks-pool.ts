import { type Block, type Blockchain, ResponseError } from '@acala-network/chopsticks-core'
import { blake2AsHex } from '@polkadot/util-crypto'
import { accountKey, readNonce } from './substrate-account.ts'

/**
 * The pool of waiting extrinsics, with a node's rules: each is accepted once; one with a future nonce waits for the
 * earlier ones; of two with one nonce, the higher priority wins. (chopsticks' own pool accepts all, and drops those
 * whose nonce is not the next one.)
 */
export type Pool = {
  /** @returns the extrinsic's hash. @throws ResponseError with a node's codes and messages */
  readonly submit: (extrinsic: Hex) => Promise<Hex>
  /** The extrinsics that the next block can include, in order. */
  readonly ready: () => Promise<readonly Hex[]>
  /** Removes the extrinsics that a block included, and those of `tried` that it refused. */
  readonly taken: (tried: readonly Hex[]) => Promise<void>
  /** The nonce after an account's last ready extrinsic. @param address SS58, any prefix */
  readonly nextNonce: (address: string) => Promise<number>
}

type Hex = Block['hash']
type Pooled = {
  readonly extrinsic: Hex
  readonly signer: Uint8Array
  readonly nonce: number
  readonly priority: bigint
}

/** The messages of InvalidTransaction (sp_runtime, transaction_validity.rs), by variant. */
const INVALID: Readonly<Record<string, string>> = {
  Call: 'Transaction call is not expected',
  Payment: 'Inability to pay some fees (e.g. account balance too low)',
  Future: 'Transaction will be valid in the future',
  Stale: 'Transaction is outdated',
  BadProof: 'Transaction has a bad signature',
  AncientBirthBlock: 'Transaction has an ancient birth block',
  ExhaustsResources: 'Transaction would exhaust the block limits',
  BadMandatory: 'A call was labelled as mandatory, but resulted in an Error.',
  MandatoryValidation: 'Transaction dispatch is mandatory; transactions must not be validated.',
  BadSigner: 'Invalid signing address',
}

/** A node's refusal, with data besides code and message. */
export class PoolError extends ResponseError {
  readonly data: string | undefined
  constructor(code: number, message: string, data?: string) {
    super(code, message)
    this.data = data
  }
  override toJSON() {
    return { code: this.code, message: this.message, ...(this.data === undefined ? {} : { data: this.data }) }
  }
}

/** The codes and messages of substrate's RPC API (sc-rpc-api, author/error.rs). */
const validate = async (chain: Blockchain, extrinsic: Hex): Promise<bigint> => {
  const validity = await chain.validateExtrinsic(extrinsic).catch((error: unknown) => {
    throw new PoolError(1002, `Verification Error: ${error instanceof Error ? error.message : error}`)
  })
  if (validity.isOk) return validity.asOk.priority.toBigInt()
  const error = validity.asErr
  if (error.isUnknown) throw new PoolError(1011, 'Unknown Transaction Validity', error.asUnknown.type)
  const invalid = error.asInvalid
  const data = invalid.isCustom ? `Custom error: ${invalid.asCustom}` : INVALID[invalid.type]
  throw new PoolError(1010, 'Invalid Transaction', data)
}

/** Creates an empty pool. */
export const createPool = (chain: Blockchain): Pool => {
  const pool = new Map<Hex, Pooled>()
  const nonceOf = async (signer: Uint8Array) => readNonce(await chain.head.get(accountKey(signer)))
  const pendingOf = (signer: Uint8Array) =>
    [...pool.values()].filter((each) => Buffer.compare(each.signer, signer) === 0)

  const readyOf = async (signer: Uint8Array): Promise<readonly Pooled[]> => {
    const first = await nonceOf(signer)
    const byNonce = new Map(pendingOf(signer).map((each) => [each.nonce, each]))
    const ready: Pooled[] = []
    for (let next = byNonce.get(first); next !== undefined; next = byNonce.get(first + ready.length)) ready.push(next)
    return ready
  }

  const submit = async (extrinsic: Hex): Promise<Hex> => {
    const hash = blake2AsHex(extrinsic, 256)
    if (pool.has(hash)) throw new PoolError(1013, 'Transaction Already Imported')
    const priority = await validate(chain, extrinsic)
    const decoded = (await chain.head.registry).createType('Extrinsic', extrinsic)
    const [signer, nonce] = [decoded.signer.toU8a().slice(-32), decoded.nonce.toNumber()]
    const rival = pendingOf(signer).find((each) => each.nonce === nonce)
    if (rival !== undefined) {
      const words = 'The transaction has too low priority to replace another transaction already in the pool.'
      const compared = `Priority is too low: (${rival.priority} vs ${priority})`
      if (priority <= rival.priority) throw new PoolError(1014, compared, words)
      pool.delete(blake2AsHex(rival.extrinsic, 256))
    }
    pool.set(hash, { extrinsic, signer, nonce, priority })
    return hash
  }

  const ready = async (): Promise<readonly Hex[]> => {
    const signers = new Map([...pool.values()].map(({ signer }) => [Buffer.from(signer).toString('hex'), signer]))
    const all = await Promise.all([...signers.values()].map(readyOf))
    return all.flat().map(({ extrinsic }) => extrinsic)
  }

  const taken = async (tried: readonly Hex[]): Promise<void> => {
    for (const extrinsic of tried) pool.delete(blake2AsHex(extrinsic, 256))
    for (const [hash, { signer, nonce }] of pool) if (nonce < (await nonceOf(signer))) pool.delete(hash)
  }

  const nextNonce = async (address: string): Promise<number> => {
    const signer = (await chain.head.registry).createType('AccountId', address).toU8a()
    return (await nonceOf(signer)) + (await readyOf(signer)).length
  }
  return { submit, ready, taken, nextNonce }
}
