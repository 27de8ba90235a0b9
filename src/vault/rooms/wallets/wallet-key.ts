// Opening a wallet's private key for one request.

import { clearTimeout, setTimeout } from 'node:timers'
import type { OwnerLockRow, WalletRow } from '../../../../db/queries/vault/keyrings.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { AppError } from '../../../platform/errors.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import { part } from '../../../platform/tracing/timings.ts'
import type { Signatures } from '../../contract/contract.ts'
import { requireCredentials } from '../../contract/required-credentials.ts'
import type { KeyUse, OpenKey } from '../../contract/vault.ts'
import { isFor, type Purpose } from '../../language/payload.ts'
import { requireChainId } from '../../language/typed-data.ts'
import { checkCredentials } from '../credentials/credential-keys.ts'
import type { RoomCtx } from '../ctx.ts'
import type { Note } from '../journal/records.ts'
import { hashCoveredBytes, readSigningFacts, selectCallerDetails, traceSignature } from '../keys/facts.ts'
import { keyTypeOf } from '../keys/key-types.ts'
import { toSign } from '../keys/payloads.ts'
import { type CredentialKeyOf, openWalletKey } from '../sealing/hierarchy.ts'
import { checkAllCredentials, openOwnerLock, refuseUnderPolicies } from './keyring.ts'
import {
  isKeyringSetBack,
  type KeyRequest,
  type ReadRequest,
  readWallet,
  unlessForged,
  walletForged,
} from './read-wallet.ts'

type Opening = Pick<ReadRequest, 'actor'> & {
  readonly wallet: Omit<WalletRow, 'address'>
  readonly credentialKeyOf: CredentialKeyOf
  /** The lock of the wallet's control mode. */
  readonly lock: OwnerLockRow
  readonly sealed: Uint8Array
}

/** Opens the owner lock and the wallet key, one after the other. */
export const openLocked = async (
  ctx: RoomCtx,
  { wallet, actor, credentialKeyOf, lock, sealed }: Opening,
): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { projectId, keyringId } = wallet
  const credentialKey = credentialKeyOf[wallet.controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  return await unlessForged({ wallet, actor }, async () => {
    const controlKey = keys.hold(await openOwnerLock(ctx, { projectId, keyringId, lock, credentialKey }))
    return openWalletKey({ ...wallet, walletId: wallet.id, controlKey, sealed })
  })
}

/**
 * Opens a wallet's private key with the credential of its control mode. What a credential opens is never kept: each
 * request must prove it again. @returns 32 bytes that the caller zeroes.
 */
const openByOwnCredential = async (
  ctx: RoomCtx,
  { wallet, row, credentials, actor }: ReadRequest,
): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { projectId, ownerId, controlMode } = wallet
  const lock = row.locks[controlMode]
  if (lock === null) throw walletForged({ wallet, actor })
  const proof = requireCredentials({ modes: [controlMode], credentials })
  await ctx.freezes.refuse({ wallet, actor, freezeMacs: row.freezeMacs })
  refuseUnderPolicies(lock)
  const credentialKeyOf = await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  return await openLocked(ctx, { wallet, actor, credentialKeyOf, lock, sealed: row.walletKey })
}

/**
 * Opens the key with the credentials of all modes that control its keyring. @returns 32 bytes that the caller zeroes.
 */
export const openByAllCredentials = async (ctx: RoomCtx, request: ReadRequest): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { wallet, row, actor } = request
  const lock = row.locks[wallet.controlMode]
  if (lock === null) throw walletForged({ wallet, actor })
  const { credentialKeyOf } = await checkAllCredentials(ctx, { ...request, keys })
  return await openLocked(ctx, { wallet, actor, credentialKeyOf, lock, sealed: row.walletKey })
}

/** A use of a key that nothing is done with before or after. */
type SignRequest = KeyRequest & { readonly uses: readonly KeyUse[] }

/** A key was used after its caller closed it, or too often: no honest caller does that. */
export class KeyClosed extends Error {
  constructor() {
    super('a key was used after it was closed')
    this.name = 'KeyClosed'
  }
}

/** The first transaction of a contract wallet takes two, because the second contains the first. */
const SIGNS_MAX = 2

type Opened = Pick<ReadRequest, 'wallet' | 'actor'> & {
  readonly privateKey: Uint8Array
  readonly purpose: Purpose
  /** The policy that the audit names. */
  readonly policyId?: string
  /** Ends with the key. */
  readonly also?: Disposable
}

type Signed = {
  readonly act: AuditAct
  readonly signatures: readonly Uint8Array[]
  /** The notes for the journal. */
  readonly notes: readonly Note[]
}

/** Signs one use, and makes its audit row and its notes for the journal. */
const signerOf = (
  { chainOf, now }: RoomCtx,
  { wallet, actor, purpose, policyId, privateKey }: Opened,
): ((use: KeyUse) => Signed) => {
  const { id: subject, projectId, publicKey, network } = wallet
  const chain = chainOf(network)
  const keyType = keyTypeOf({ wallet, chain, privateKey })
  if (keyType === null) throw walletForged({ wallet, actor })
  return ({ action, details: said, payloads, about }) => {
    const signed = payloads.map((payload) => {
      if (!isFor(purpose, payload)) throw new Error(`a key was opened for ${purpose}, and asked for other things`)
      if ('typedData' in payload) requireChainId(payload.typedData, chain.chainId ?? 0)
      const { bytes, fields } = toSign(chain.family, payload)
      const signature = keyType.sign({ bytes, privateKey, publicKey })
      return {
        payload,
        fields,
        signature,
        ...traceSignature({ payload, bytes, signature, publicKey }),
        covered: hashCoveredBytes({ payload, bytes }),
      }
    })
    const [hash = '', ...further] = signed.map((each) => each.hash)
    const hashes = further.length === 0 ? { hash } : { hash, further_hashes: further.join(' ') }
    const covered = signed.flatMap((each) => each.covered ?? [])
    const signedBytes = covered.length === 0 ? {} : { signed_bytes_hashes: covered.join(' ') }
    const policy = policyId === undefined ? {} : { policy: policyId }
    const facts = { network, ...readSigningFacts({ chain, publicKey }, signed), ...hashes, ...signedBytes, ...policy }
    const act = { action, details: { ...selectCallerDetails(signed, said), ...facts }, projectId, actor, subject }
    const attempts = signed.flatMap(({ raw, hash: itsHash }) => (raw === null ? [] : [{ raw, hash: itsHash }]))
    const note = { kind: 'transaction', attempts, about: about ?? '', at: now().toISOString() } as const
    return { act, signatures: signed.map(({ signature }) => signature), notes: about === undefined ? [] : [note] }
  }
}

/** Signs, commits what must be durable before a signature leaves, and returns the signatures. */
type SignAfter = (commit: (acts: readonly AuditAct[]) => Promise<void>, uses: readonly KeyUse[]) => Promise<Signatures>

/**
 * Ends what is open by itself, after the longest time of a request.
 * @returns a check that it is open still. After its time it throws `busy`: a slow node makes an honest caller late.
 * Otherwise KeyClosed.
 */
export const closeInTime = ({ keyLifetimeMs }: RoomCtx, open: DisposableStack): (() => void) => {
  let isLate = false
  const end = () => {
    isLate = !open.disposed
    open.dispose()
  }
  const timer = setTimeout(end, keyLifetimeMs)
  timer.unref()
  open.defer(() => clearTimeout(timer))
  return () => {
    if (isLate)
      throw new AppError('busy', 'The request took longer than a key stays open; nothing was done: try again.')
    if (open.disposed) throw new KeyClosed()
  }
}

/** Holds an opened key until its end, and zeroes it then. If it throws, it has zeroed the key. */
export const holdKey = (ctx: RoomCtx, opened: Opened): Disposable & { readonly sign: SignAfter } => {
  const { privateKey } = opened
  using held = new DisposableStack()
  if (opened.also) held.use(opened.also)
  held.defer(() => privateKey.fill(0))
  const sign = signerOf(ctx, opened)
  const key = held.move()
  const requireOpen = closeInTime(ctx, key)
  let signs = 0
  return {
    sign: async (commit, uses) => {
      ctx.keptAudit.require()
      await ctx.journal.requireSame()
      signs += 1
      requireOpen()
      if (signs > SIGNS_MAX) throw new KeyClosed()
      const signed = uses.map(sign)
      await commit(signed.map(({ act }) => act))
      ctx.journal.add({ notes: signed.flatMap(({ notes }) => notes) })
      await part('journal', () => ctx.journal.sync())
      return signed.map(({ signatures }) => signatures)
    },
    [Symbol.dispose]: () => key.dispose(),
  }
}

const openBy =
  (
    open: (ctx: RoomCtx, request: ReadRequest) => Promise<Uint8Array>,
    purpose: Opened['purpose'],
    isSetBack?: Parameters<typeof readWallet>[2],
  ) =>
  async (ctx: RoomCtx, request: KeyRequest): Promise<OpenKey> => {
    const { actor } = request
    const { wallet, row } = await readWallet(ctx, request, isSetBack)
    const key = holdKey(ctx, { wallet, actor, purpose, privateKey: await open(ctx, { ...request, wallet, row }) })
    const commit = (acts: readonly AuditAct[]) => ctx.audit.commit(...acts)
    return {
      sign: (...uses) => ctx.refusals.recording(() => key.sign(commit, uses)),
      [Symbol.dispose]: key[Symbol.dispose],
    }
  }

const signBy =
  (open: (ctx: RoomCtx, request: KeyRequest) => Promise<OpenKey>) =>
  async (ctx: RoomCtx, { uses, ...request }: SignRequest): Promise<Signatures> => {
    using key = await open(ctx, request)
    return await key.sign(...uses)
  }

/** Opens a wallet's key, as `Vault.openKey` says. */
export const openKey = openBy(openByOwnCredential, 'transactions')

/** Signs with it at once, as `Vault.signOnce` says. */
export const signOnce = signBy(openKey)

/** The same with all credentials, as `Vault.signMessage` says. */
export const signMessage = signBy(openBy(openByAllCredentials, 'messages', isKeyringSetBack))
