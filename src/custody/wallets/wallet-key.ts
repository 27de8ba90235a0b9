// Opening a wallet's private key, and lending it to one use.

import type { Tx } from '../../../db/client.ts'
import type { WalletKeyRow } from '../../../db/queries/custody/keyrings.ts'
import type { ControlMode, Network } from '../../../db/words.ts'
import type { AuditAct, AuditEntry } from '../audit.ts'
import { checkCredentials } from '../credentials/credential-keys.ts'
import { type Credentials, type Proof, refuseFrozen, requireCredentials } from '../credentials/credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { keyTypeOf } from '../keys/key-types.ts'
import { bytesToSign } from '../keys/payloads.ts'
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

/** A wallet's opened private key. It is zeroed when `withKey` returns, and every use after that throws. */
export type KeyHandle = {
  /**
   * @returns EVM: 65 bytes, r, s (low), recovery id. Substrate: 64 bytes, sr25519.
   * @throws Error for a payload of another family or form.
   */
  sign(payload: Payload): Uint8Array
  /** Writes the audit row in the transaction of the effect. */
  recordUse(tx: Tx, entry: AuditEntry): Promise<void>
  /** Commits an audit row of its own, together with those of concurrent requests, and returns when it is durable. */
  commitUse(entry: AuditEntry): Promise<void>
}

/** Lends an opened key to `use`, and zeroes it afterwards. @param opened.policyId the policy that the audit names. */
export const useKey = async <T>(
  { audit, familyOf }: CustodyCtx,
  opened: Pick<KeyRequest, 'wallet' | 'actor'> & { readonly privateKey: Uint8Array; readonly policyId?: string },
  use: (key: KeyHandle) => Promise<T>,
): Promise<T> => {
  const { wallet, actor, policyId, privateKey } = opened
  let closed = false
  const checkOpen = () => {
    if (closed) throw new Error('a key was used after it was closed')
  }
  const actOf = ({ action, details }: AuditEntry): AuditAct => {
    checkOpen()
    const named = policyId === undefined ? details : { ...details, policy: policyId }
    return { action, details: named, projectId: wallet.projectId, actor, subject: wallet.id }
  }
  try {
    const family = familyOf(wallet.network)
    const keyType = keyTypeOf({ wallet, family, privateKey })
    return await use({
      sign: (payload) => {
        checkOpen()
        return keyType.sign({ bytes: bytesToSign(family, payload), privateKey })
      },
      recordUse: async (tx, entry) => audit.record(tx, actOf(entry)),
      commitUse: async (entry) => audit.commit(actOf(entry)),
    })
  } finally {
    closed = true
    privateKey.fill(0)
  }
}

/** Opens a wallet's key for as long as `use` runs, as `Vault.withKey` says. */
export const withKey = async <T>(
  ctx: CustodyCtx,
  request: KeyRequest,
  use: (key: KeyHandle) => Promise<T>,
): Promise<T> => useKey(ctx, { ...request, privateKey: await openKey(ctx, request) }, use)

/** The same with all credentials, as `Vault.withKeyForMessage` says. */
export const withKeyForMessage = async <T>(
  ctx: CustodyCtx,
  request: KeyRequest,
  use: (key: KeyHandle) => Promise<T>,
): Promise<T> => useKey(ctx, { ...request, privateKey: await openKeyByAllLocks(ctx, request) }, use)
