import { randomBytes } from 'node:crypto'
import type { Hex, NodelessChain } from '../../chains/chain.ts'
import type { Chains } from '../../chains/chains.ts'
import { AppError, invalidInput } from '../../platform/errors.ts'
import { isOriginOf } from '../auth/origins.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isTimely, originOf, parseSiwe, parseSiws, type SignInMessage } from '../auth/sign-in-message.ts'
import { beginLimit, targetLimit, throttle } from '../auth/throttle.ts'
import type { IdentityCtx } from '../ctx.ts'
import { issueNonce, readNonce, takeNonce } from './nonces.ts'
import { derivedUserId, ensureUser, userIdOf } from './user.ts'
import type { Prove } from './verify-login.ts'

// The name under which we store a wallet that signs in:
// - an EVM key: its address (EIP-55). The key is the same on every EVM network;
// - a Substrate key: its SS58 address with prefix 0. The key is the same on every Substrate network;
// - a contract: `eip155:<chain id>:<address>` (CAIP-10), as a contract can vouch for itself only on its own chain. An
//   attacker may be able to deploy a contract at the same address on another chain (factories that leave the owner out
//   of the salt, reused deployer keys). For the same reason a contract differs from a key with the same address.

const CAIP10 = /^eip155:([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40})$/
const FIELD = 'sign_in_wallet'

type Known = Pick<Chains, 'known'>

/** A network of this environment. With null as the id: one whose accounts are the same on every chain. */
const chainWithId = ({ known }: Known, chainId: number | null): NodelessChain | undefined =>
  known.find((chain) => chain.chainId === chainId)

const chainIdsInWords = ({ known }: Known): string =>
  known.flatMap(({ chainId, network }) => (chainId === null ? [] : [`${chainId} (${network})`])).join(', ')

/** The chain id in the name of a contract with this address; null for any other name. */
const contractChainOf = (name: string, address: string): number | null => {
  const [, chain, contract] = CAIP10.exec(name) ?? []
  return contract === address ? Number(chain) : null
}

/**
 * @param text an EVM or SS58 address, or a contract's CAIP-10 name. @returns the name as we store it.
 * @throws invalid_input for a chain of another environment.
 */
export const readSignInWallet = (chains: Known, text: string): string => {
  const [, chainId, contract] = CAIP10.exec(text) ?? []
  if (chainId !== undefined && contract !== undefined) {
    const chain = chainWithId(chains, Number(chainId))
    const name = chain?.contractSigner(chain.parseAddress(contract, FIELD))
    if (name) return name
    throw invalidInput(`Field "${FIELD}" must name a chain of this environment's networks.`)
  }
  for (const chain of chains.known) {
    const account = chain.accountOf(text)
    if (account !== null) return account
  }
  throw new AppError(
    'address_invalid',
    `Field "${FIELD}" must be an EVM address in one case or with a valid checksum, an SS58 address with a valid checksum, or eip155:CHAIN_ID:ADDRESS for a contract.`,
  )
}

const WAY = 'wallet'
/** 128 bits. EIP-4361 allows hex in a nonce. */
const NONCE_BYTES = 16
const NONCE_SECONDS = 300

/** Does the same for a known and an unknown wallet. @returns the nonce, and the user whose session it will begin. */
export const loginWithWallet = async (
  ctx: IdentityCtx,
  visitor: Visitor,
  input: { readonly signInWallet: string },
): Promise<{ readonly userId: string; readonly nonce: string }> => {
  const { projectId } = visitor
  const signInWallet = readSignInWallet(ctx.chains, input.signInWallet)
  await throttle(ctx, [beginLimit(ctx, visitor, WAY), targetLimit(ctx, visitor, WAY, signInWallet)])
  const userId = await userIdOf(ctx, { projectId, by: { signInWallet } })
  const nonce = randomBytes(NONCE_BYTES).toString('hex')
  const terms = { userId: null, target: signInWallet, lifetimeSeconds: NONCE_SECONDS }
  await issueNonce(ctx, { projectId, kind: 'wallet', nonce, ...terms })
  return { userId, nonce }
}

type Signed = { readonly message: string; readonly signature: Hex }

/** The only wrong proof whose error says what is wrong: it is the page's mistake, and reveals nothing of a user. */
const wrongChain = (chainId: number | null, expected: string): AppError =>
  new AppError('login_failed', `The message is for the chain with id ${chainId}, but must be for ${expected}.`)

/** A key, and a contract on the chain that the message names. @throws login_failed for an unknown chain. */
const signersOf = ({ chains }: IdentityCtx, { address, chainId }: SignInMessage) => {
  const chain = chainWithId(chains, chainId)
  if (chain === undefined) throw wrongChain(chainId, chainIdsInWords(chains))
  const key = chain.accountOf(address)
  return key === null ? null : { key, contract: chain.contractSigner(key), chain }
}

type Signers = NonNullable<ReturnType<typeof signersOf>>

/** The wallet that signed, or null. Without a node of its network, only a key's signature can be checked. */
const signerOf = async ({ key, contract, chain }: Signers, signed: Signed): Promise<string | null> => {
  const by = await chain.verifyMessage({ ...signed, address: key })
  return by === 'contract' ? contract : by && key
}

/** A message from a page must be for that page. A caller without an origin may use any origin of the project. */
const isForOrigin = (ctx: IdentityCtx, { project, origin: page }: Visitor, message: SignInMessage): boolean => {
  const origin = originOf(message)
  if (origin === null) return false
  return page === null ? isOriginOf(ctx, { project, origin }) : origin === page
}

/**
 * The session uses the nonce up, so that the user need not sign again after a failure of a node.
 * @throws login_failed for a message for the wrong chain.
 */
export const proveByWallet: Prove<{ readonly message: string; readonly signature: string }> = async (
  ctx,
  visitor,
  { message: text, signature },
) => {
  const message = parseSiwe(text) ?? parseSiws(text)
  const signers = message && signersOf(ctx, message)
  if (message === null || signers === null || !isForOrigin(ctx, visitor, message)) return null

  const { projectId } = visitor
  const nonce = { projectId, kind: 'wallet', nonce: message.nonce } as const
  const issued = await readNonce(ctx, nonce)
  // Check the nonce first, so that strangers cannot make us call a node.
  if (issued === null) return null
  if (![signers.key, signers.contract].includes(issued.target)) {
    const chain = contractChainOf(issued.target, message.address)
    if (chain !== null) throw wrongChain(message.chainId, `${chain}, the chain of the contract`)
    return null
  }
  if (!isTimely(message, { nowMs: ctx.now().getTime(), nonceCreatedAtMs: issued.createdAt.getTime() })) return null

  const signer = await signerOf(signers, { message: text, signature: `0x${signature.slice(2)}` })
  // A nonce for an address is valid for its key and its contract. A nonce for a contract is valid for that contract
  // only.
  if (signer === null || ![signer, signers.key].includes(issued.target)) return null

  const id = derivedUserId(ctx, { projectId, by: { signInWallet: signer } })
  return {
    way: 'wallet',
    consume: async (tx) =>
      (await takeNonce(ctx, tx, nonce)) === null
        ? null
        : { userId: await ensureUser(ctx, tx, { id, projectId, by: { signInWallet: signer } }) },
  }
}
