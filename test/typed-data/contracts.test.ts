// Typed data that contracts accept: tokens, a transfer by signature, Safes, and contract wallets.

import { beforeAll, describe, expect, test } from 'bun:test'
import {
  encodeFunctionData,
  getAddress,
  type Hex,
  hashTypedData,
  isErc6492Signature,
  parseAbi,
  parseSignature,
} from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { executionData } from '../../src/chains/evm/safe/execution.ts'
import { fundedAccount } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import type { Answer } from '../support/service.ts'
import { mail, permit, permitTransferFrom, safeTransaction, transferAuthorization } from './data.ts'

const PIN = '493817'
const secret = { developer_secret: 'testnet-secret' }
const FOREVER = (2n ** 256n - 1n).toString()
const RECIPIENT = fundedAccount(7).address
const ERC20 = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
])
const ERC1271 = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)'])

const { chain, service } = await commonWorld()
await deployCanonicalContracts(chain.rpcUrl)
const chainId = await chain.publicClient.getChainId()
const token = await chain.deploy('SignedToken')
const transfers = await chain.deploy('SignatureTransfer')

type Wallet = { readonly address: Hex; readonly id: string }
const newWallet = (): Promise<Wallet> => service.newWallet({ network: 'Ethereum' })

const sign = async (wallet: Wallet, typed_data: object, credential: object = secret): Promise<Hex> => {
  const answer: Answer = await service.post('/transactions/sign-typed-data', {
    ...{ network: 'Ethereum', signer_wallet_address: wallet.address, typed_data, ...credential },
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.signature
}

/** v, r and s as contracts take them. */
const partsOf = (signature: Hex) => {
  const { r, s, v } = parseSignature(signature)
  return [Number(v), r, s] as const
}

const read = (functionName: string, ...args: readonly unknown[]) =>
  chain.publicClient.readContract({ ...token, functionName, args })
const mint = (to: string, value: bigint) => chain.write({ contract: token, functionName: 'mint', args: [to, value] })
const domain = () => ({ name: 'Signed Token', chainId, verifyingContract: token.address })

describe('a token', () => {
  test('of OpenZeppelin accepts a permit (ERC-2612), once', async () => {
    const { address: owner } = await newWallet()
    const spender = fundedAccount(5).address
    const signed = permit(domain(), { owner, spender, value: '700', nonce: 0, deadline: FOREVER })
    const parts = partsOf(await sign({ address: owner, id: '' }, signed))
    const args = [owner, spender, 700n, BigInt(FOREVER), ...parts]
    await chain.write({ contract: token, functionName: 'permit', args })
    expect(await read('allowance', owner, spender)).toBe(700n)
    await expect(chain.write({ contract: token, functionName: 'permit', args })).rejects.toThrow('ERC2612InvalidSigner')
  })

  test('of OpenZeppelin accepts a transfer and a receipt with authorization (ERC-3009)', async () => {
    const wallet = await newWallet()
    const { address: from } = wallet
    await mint(from, 1_000n)
    const nonce = `0x${'5a'.repeat(32)}`
    const message = { from, to: RECIPIENT, value: 400, validAfter: 0, validBefore: '281474976710655', nonce }
    const parts = partsOf(await sign(wallet, transferAuthorization('TransferWithAuthorization', domain(), message)))
    const args = [from, RECIPIENT, 400n, 0n, 281_474_976_710_655n, nonce, ...parts]
    const send = (functionName: string) => chain.write({ contract: token, functionName, args })
    await expect(send('receiveWithAuthorization')).rejects.toThrow()
    await send('transferWithAuthorization')
    expect(await read('balanceOf', RECIPIENT)).toBe(400n)
    await expect(send('transferWithAuthorization')).rejects.toThrow('ERC3009UsedAuthorization')

    const to = fundedAccount(0).address
    const received = { ...message, to, value: '600', nonce: `0x${'5b'.repeat(32)}` }
    const receipt = partsOf(await sign(wallet, transferAuthorization('ReceiveWithAuthorization', domain(), received)))
    await chain.write({
      contract: token,
      functionName: 'receiveWithAuthorization',
      args: [from, to, 600n, 0n, 281_474_976_710_655n, received.nonce, ...receipt],
    })
    expect(await read('balanceOf', from)).toBe(0n)
  })
})

/** Sends tokens by a signed PermitTransferFrom. The sender of the transaction is its spender. */
const transferBySignature = async (owner: string, signature: Hex, amount: bigint) =>
  chain.write({
    contract: transfers,
    functionName: 'permitTransferFrom',
    args: [
      { permitted: { token: token.address, amount: 500n }, nonce: 7n, deadline: BigInt(FOREVER) },
      { to: RECIPIENT, requestedAmount: amount },
      owner,
      signature,
    ],
  })

const transferData = () =>
  permitTransferFrom(
    { chainId, verifyingContract: transfers.address },
    {
      permitted: { token: token.address, amount: '500' },
      spender: fundedAccount(0).address,
      nonce: 7,
      deadline: FOREVER,
    },
  )

const approval = () => encodeFunctionData({ abi: ERC20, functionName: 'approve', args: [transfers.address, 10_000n] })

test('a transfer by the signature of Permit2 is accepted, up to its amount', async () => {
  const wallet = await newWallet()
  await mint(wallet.address, 1_000n)
  await chain.testClient.impersonateAccount({ address: wallet.address })
  await chain.fund(wallet.address)
  await chain.walletClient.sendTransaction({ account: wallet.address, to: token.address, data: approval() })
  const signature = await sign(wallet, transferData())
  await expect(transferBySignature(wallet.address, signature, 501n)).rejects.toThrow('too much')
  const before = await read('balanceOf', RECIPIENT)
  await transferBySignature(wallet.address, signature, 450n)
  expect(await read('balanceOf', RECIPIENT)).toBe(BigInt(String(before)) + 450n)
})

const contractWallets = () => {
  const found = service.ctx.chains.get('Ethereum').contractWallets
  if (found === null) throw new Error('Ethereum has contract wallets')
  return found
}

test('a Safe does the transaction that its owner signed, sent by somebody else', async () => {
  const owner = await newWallet()
  const safe = contractWallets().of(owner.address)
  const { to, input } = contractWallets().deployment(safe)
  await chain.send({ to: getAddress(to ?? ''), data: input })
  await mint(safe.address, 1_000n)
  const operation = {
    to: token.address,
    value: 0n,
    data: encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [fundedAccount(6).address, 300n] }),
    operation: 0,
  }
  const verifyingContract = safe.address
  const signatures = await sign(
    owner,
    safeTransaction({ chainId, verifyingContract }, { to: token.address, data: operation.data }),
  )
  const execute = () =>
    chain.send({ to: getAddress(safe.address), data: executionData(operation, { safeTxGas: 0n, signatures }) })
  await execute()
  expect(await read('balanceOf', fundedAccount(6).address)).toBe(300n)
  // The Safe's nonce is used up.
  await expect(execute()).rejects.toThrow('GS026')
})

describe('typed data of a contract wallet', () => {
  let safe: Wallet
  const pin = { user_pin: PIN }

  beforeAll(async () => {
    const body = { network: 'Ethereum', name: 'Safe', type: 'contract', control_mode: 'user', ...pin }
    const answer = await service.post('/wallets', body)
    if (answer.status !== 200) throw new Error(answer.text)
    safe = answer.json
  })

  const isValid = (signature: Hex, data: object) =>
    chain.publicClient.verifyTypedData({ address: safe.address, signature, ...data } as never)

  test('is valid before deployment (ERC-6492) and after it (ERC-1271), for nothing else and nobody else', async () => {
    const data = mail({ name: 'Mail', chainId })
    const other = { ...data, message: { ...data.message, contents: 'Goodbye.' } }
    const before = await sign(safe, data, pin)
    expect(isErc6492Signature(before)).toBe(true)
    expect([await isValid(before, data), await isValid(before, other)]).toEqual([true, false])

    const row = await service.ctx.wallets.byId(safe.id)
    const owner = service.ctx.chains.get('Ethereum').addressOf(row?.publicKey ?? new Uint8Array())
    const { to, input } = contractWallets().deployment(contractWallets().of(owner))
    await chain.send({ to: getAddress(to ?? ''), data: input })
    const after = await sign(safe, data, pin)
    expect(isErc6492Signature(after)).toBe(false)
    expect([await isValid(after, data), await isValid(before, data), await isValid(after, other)]).toEqual([
      true,
      true,
      false,
    ])
    const ofKey = { address: getAddress(owner), signature: after, ...data }
    expect(await chain.publicClient.verifyTypedData(ofKey as never)).toBe(false)
    const asked = { address: safe.address, abi: ERC1271, functionName: 'isValidSignature' } as const
    const args = [hashTypedData(data as never), after] as const
    expect(await chain.publicClient.readContract({ ...asked, args })).toBe('0x1626ba7e')
  })

  test('lets a contract take tokens, which asks the wallet by ERC-1271', async () => {
    await mint(safe.address, 1_000n)
    await chain.testClient.impersonateAccount({ address: safe.address })
    await chain.fund(safe.address)
    await chain.walletClient.sendTransaction({ account: safe.address, to: token.address, data: approval() })
    await transferBySignature(safe.address, await sign(safe, transferData(), pin), 500n)
    expect(await read('balanceOf', safe.address)).toBe(500n)
  })
})
