import { expect, test } from 'bun:test'
import { encodeDeployData, getAddress, parseSignature, toFunctionSelector } from 'viem'
import { tokenAbi as abi, tokenBytecode } from '../../../../src/chains/evm/contracts/token.generated.ts'
import { fundedAccount, startChain } from '../../../support/chains.ts'
import { shared } from '../../../support/shared.ts'

const [owner, stranger, third] = [fundedAccount(0), fundedAccount(1), fundedAccount(2)]

const chain = await shared(startChain('Polygon'))
const args = ['Points', 'PNT', 36, 1_000n, owner.address] as const
// Sent by another account: the argument decides who owns the token.
const data = encodeDeployData({ abi, bytecode: tokenBytecode, args })
const receipt = await chain.receiptOf(await chain.walletClient.sendTransaction({ account: stranger, data }))
const address = getAddress(receipt.contractAddress ?? '0x')

const read = (functionName: string, args: readonly unknown[] = []): Promise<unknown> =>
  chain.publicClient.readContract({ address, abi: abi as never, functionName, args })
const write = (functionName: string, args: readonly unknown[], account = owner) =>
  chain.write({ contract: { address, abi }, functionName, args, account })

test('the initial supply belongs to the owner, and only the owner mints', async () => {
  expect([await read('owner'), await read('totalSupply'), await read('decimals')]).toEqual([owner.address, 1_000n, 36])
  expect(await read('balanceOf', [owner.address])).toBe(1_000n)
  await expect(write('mint', [stranger.address, 1n], stranger)).rejects.toThrow('OwnableUnauthorizedAccount')
  await write('mint', [stranger.address, 5n])
  expect(await read('balanceOf', [stranger.address])).toBe(5n)
  await expect(write('mint', [stranger.address, 2n ** 256n - 1n])).rejects.toThrow()
})

test('a batch moves all amounts of the caller, or nothing', async () => {
  const before = await read('balanceOf', [third.address])
  await write('batchTransfer', [
    [third.address, third.address],
    [2n, 3n],
  ])
  expect(await read('balanceOf', [third.address])).toBe((before as bigint) + 5n)
  await expect(
    write('batchTransfer', [
      [third.address, stranger.address],
      [1n, 10n ** 9n],
    ]),
  ).rejects.toThrow('ERC20InsufficientBalance')
  await expect(write('batchTransfer', [[third.address], [1n, 1n]])).rejects.toThrow('BatchLengthMismatch')
  await expect(write('batchTransfer', [['0x0000000000000000000000000000000000000000'], [1n]])).rejects.toThrow(
    'ERC20InvalidReceiver',
  )
  expect(await read('balanceOf', [third.address])).toBe((before as bigint) + 5n)
  await write('batchTransfer', [[], []])
})

test('declares ERC-165 and the batch function by its selector', async () => {
  const batch = toFunctionSelector('batchTransfer(address[],uint256[])')
  for (const id of ['0x01ffc9a7', batch]) expect([id, await read('supportsInterface', [id])]).toEqual([id, true])
  expect(await read('supportsInterface', ['0xffffffff'])).toBe(false)
})

test('takes a permit (EIP-2612)', async () => {
  const message = { owner: owner.address, spender: third.address, value: 7n, nonce: 0n, deadline: 10n ** 10n }
  const signature = await owner.signTypedData({
    domain: { name: 'Points', version: '1', chainId: chain.chainId, verifyingContract: address },
    types: {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    },
    primaryType: 'Permit',
    message,
  })
  const { r, s, yParity } = parseSignature(signature)
  await write('permit', [owner.address, third.address, 7n, message.deadline, 27 + yParity, r, s], stranger)
  expect(await read('allowance', [owner.address, third.address])).toBe(7n)
})
