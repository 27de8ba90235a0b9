// Opening a wallet's private key, and lending it to one use.

import type { WalletKeyRow } from '../../../db/queries/custody/keyrings.ts'
import type { ControlMode, Network } from '../../../db/words.ts'
import type { AuditAct, AuditEntry } from '../audit.ts'
import { checkCredentials } from '../credentials/credential-keys.ts'
import { type Credentials, type Proof, refuseFrozen, requireCredentials } from '../credentials/credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { keyTypeOf } from '../keys/key-types.ts'
import { bytesToSign } from '../keys/payloads.ts'
import { traceOf } from '../keys/trace.ts'
import type { Payload } from '../payload.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { openWalletKey } from '../sealing/hierarchy.ts'
import { openByAllLocks, openOwnerLock } from './keyring.ts'
import { unlessForged, walletForged } from './wallet-forged.ts'

export type WalletRef = {
  readonly id: string
  readonly projectId: string
  readonly ownerId: string
  readonly network: Network
  readonly keyringId: string
  readonly controlMode: ControlMode
  /** 65 bytes uncompressed secp256k1, or 32 bytes sr25519. */
  readonly publicKey: Uint8Array
}

export type KeyRequest = {
  readonly wallet: WalletRef
  readonly credentials: Credentials
  /** `api_key:<id>`, `session:<id>`, `operator` or `system`. */
  readonly actor: string
}

type Opening = {
  readonly wallet: WalletRef
  readonly actor: string
  readonly proof: Proof
  readonly row: WalletKeyRow
}

/** Opens credential, owner lock and wallet key, one after the other. */
const openHierarchy = async (ctx: CustodyCtx, opening: Opening): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { wallet, actor, proof, row } = opening
  const { projectId, ownerId, keyringId } = wallet
  const opened = await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  const credentialKey = opened[wallet.controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always the required one")
  const { lock } = row
  return await unlessForged({ wallet, actor }, async () => {
    const keyringKey = keys.hold(await openOwnerLock(ctx, { projectId, keyringId, lock, credentialKey }))
    return openWalletKey({ ...wallet, walletId: wallet.id, keyringKey, sealed: row.sealed })
  })
}

/**
 * Opens a wallet's private key with the credential of its control mode. What a credential opens is never kept: each request
 * must prove it again. @returns 32 bytes that the caller zeroes.
 */
const openKey = async (ctx: CustodyCtx, { wallet, credentials, actor }: KeyRequest): Promise<Uint8Array> => {
  const proof = requireCredentials({ modes: [wallet.controlMode], credentials })
  const row = await ctx.readWalletKey(wallet.id)
  if (row === null) throw walletForged({ wallet, actor })
  refuseFrozen(row.frozen)
  return openHierarchy(ctx, { wallet, actor, proof, row })
}

/** A wallet's private key, with the credentials of all locks of its keyring: 32 bytes that the caller zeroes. */
const openKeyByAllLocks = async (ctx: CustodyCtx, request: KeyRequest): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { row, keyringKey } = await openByAllLocks(ctx, request)
  keys.hold(keyringKey)
  const { wallet } = request
  return await unlessForged(request, async () =>
    openWalletKey({ ...wallet, walletId: wallet.id, keyringKey, sealed: row.walletKey }),
  )
}

/** What a key signs for one purpose, and what the audit says of it beside the hashes. */
export type KeyUse = AuditEntry & { readonly payloads: readonly Payload[] }

/** The signatures of each use. EVM: 65 bytes, r, s (low), recovery id. Substrate: 64 bytes, sr25519. */
export type Signatures = readonly (readonly Uint8Array[])[]

/** The signature of one use with one payload. */
export const onlySignature = (signatures: Signatures): Uint8Array => {
  const signature = signatures[0]?.[0]
  if (signature === undefined) throw new Error('custody returned no signature')
  return signature
}

/** A wallet's opened private key. It is zeroed when `withKey` returns, and every use after that throws. */
export type KeyHandle = {
  /**
   * Signs. The audit row of each use is committed before a signature leaves; it has the hash of what was signed first, and
   * those of the rest.
   * @throws Error for a payload of another family or form.
   */
  sign(...uses: readonly KeyUse[]): Promise<Signatures>
}

type Opened = Pick<KeyRequest, 'wallet' | 'actor'> & {
  readonly privateKey: Uint8Array
  /** The policy that the audit names. */
  readonly policyId?: string
}

type Signed = { readonly act: AuditAct; readonly signatures: readonly Uint8Array[] }

/** Signs one use, and says what the audit tells of it. */
const signerOf = (
  { familyOf }: CustodyCtx,
  { wallet, actor, policyId, privateKey }: Opened,
): ((use: KeyUse) => Signed) => {
  const { id: subject, projectId, publicKey } = wallet
  const family = familyOf(wallet.network)
  const keyType = keyTypeOf({ wallet, family, privateKey })
  return ({ action, details, payloads }) => {
    const signed = payloads.map((payload) => {
      const bytes = bytesToSign(family, payload)
      const signature = keyType.sign({ bytes, privateKey })
      return { signature, hash: traceOf({ payload, bytes, signature, publicKey }) }
    })
    const [hash = '', ...further] = signed.map((each) => each.hash)
    const hashes = further.length === 0 ? { hash } : { hash, further_hashes: further.join(' ') }
    const policy = policyId === undefined ? {} : { policy: policyId }
    const act = { action, details: { ...details, ...hashes, ...policy }, projectId, actor, subject }
    return { act, signatures: signed.map(({ signature }) => signature) }
  }
}

/** Signs, commits what must be durable before a signature leaves, and returns the signatures. */
type SignAfter = (commit: (acts: readonly AuditAct[]) => Promise<void>, uses: readonly KeyUse[]) => Promise<Signatures>

/** Lends an opened key to `use`, and zeroes it afterwards. */
export const lendKey = async <T>(ctx: CustodyCtx, opened: Opened, use: (sign: SignAfter) => Promise<T>): Promise<T> => {
  let closed = false
  try {
    const sign = signerOf(ctx, opened)
    return await use(async (commit, uses) => {
      if (closed) throw new Error('a key was used after it was closed')
      const signed = uses.map(sign)
      await commit(signed.map(({ act }) => act))
      return signed.map(({ signatures }) => signatures)
    })
  } finally {
    closed = true
    opened.privateKey.fill(0)
  }
}

const withKeyBy =
  (open: (ctx: CustodyCtx, request: KeyRequest) => Promise<Uint8Array>) =>
  async <T>(ctx: CustodyCtx, request: KeyRequest, use: (key: KeyHandle) => Promise<T>): Promise<T> => {
    const commit = (acts: readonly AuditAct[]) => ctx.audit.commit(...acts)
    const opened = { ...request, privateKey: await open(ctx, request) }
    return lendKey(ctx, opened, (sign) => use({ sign: (...uses) => sign(commit, uses) }))
  }

/** Opens a wallet's key for as long as `use` runs, as `Vault.withKey` says. */
export const withKey = withKeyBy(openKey)

/** The same with all credentials, as `Vault.withKeyForMessage` says. */
export const withKeyForMessage = withKeyBy(openKeyByAllLocks)
