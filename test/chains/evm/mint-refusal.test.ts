import { expect, test } from 'bun:test'
import { mintRefusal } from '../../../src/chains/evm/mint-trials.ts'

const A = '0x00000000000000000000000000000000000abcde'
const SILENT = 'execution reverted: no reason given'
const codeOf = (...reasons: readonly string[]) =>
  mintRefusal([SILENT, ...reasons.map((reason) => `execution reverted: ${reason}`), SILENT], null).code

test.each([
  `OwnableUnauthorizedAccount(account: ${A})`,
  `AccessControlUnauthorizedAccount(account: ${A}, neededRole: 0x9f2d)`,
  `AccessManagedUnauthorized(caller: ${A})`,
  `PermissionsUnauthorizedAccount(account: ${A}, neededRole: 0x9f2d)`,
  'Ownable: caller is not the owner',
  `AccessControl: account ${A} is missing role 0x9f2df0fed2c77648de5860a4cc508cd0818c85b8b8a1ab4ceeef8d981c8956a6`,
  `Permissions: account ${A} is missing role 0x9f2d`,
  'ERC721PresetMinterPauserAutoId: must have minter role to mint',
  'MinterRole: caller does not have the Minter role',
  'Not authorized to mint.',
  '!MINTER',
  'Unauthorized()',
  'UNAUTHORIZED',
  'NotOwner()',
  'CallerNotMinter(caller: 0x1)',
  'OnlyOwner()',
  'Only owner can mint',
  'not the owner',
])('%j is a want of permission', (reason) => {
  const error = mintRefusal([`execution reverted: ${reason}`], null)
  expect(error).toMatchObject({ code: 'mint_unauthorized', status: 400 })
  expect(error.message).toBe(
    `This wallet may not mint from contract_address: execution reverted: ${reason.replace(/\.$/, '')}.`,
  )
  expect(codeOf(reason)).toBe('mint_unauthorized')
})

test.each([
  'Ether value sent is not correct',
  'Insufficient funds!',
  'not enough ETH',
  'Need to send more ETH.',
  'Must send exact price',
  'Incorrect payment',
  'price too low',
  'InsufficientPayment()',
  'Mint_WrongEtherValue(given: 0)',
  'InvalidMsgValue(uint256: 0)',
])('%j is a want of money', (reason) => {
  expect(codeOf(reason)).toBe('mint_requires_value')
})

test.each([
  'minting is closed',
  'max supply reached',
  'ERC721InvalidReceiver(receiver: 0x1)',
  'ERC721: transfer to non ERC721Receiver implementer',
  'ERC20: insufficient allowance',
  'TransferCallerNotOwnerNorApproved(x: 1)',
  'wrong recipient',
  'panic: assertion failed (0x01)',
  'custom error 0x12345678',
])('%j is neither', (reason) => {
  const error = mintRefusal([SILENT, `execution reverted: ${reason}`], null)
  expect(error.code).toBe('mint_unsupported')
  expect(error.message).toContain(reason)
})

test('only a contract’s reason is used, not the node’s', () => {
  expect(mintRefusal(['execution failed:   Unauthorized()', 'insufficient funds for transfer'], null)).toMatchObject({
    code: 'mint_unsupported',
    message: 'This wallet cannot mint from contract_address.',
  })
})

test('a mint that would succeed with money is the first reason to report, then missing permission, then other reasons', () => {
  const unauthorized = 'execution reverted: NotOwner()'
  const unpaid = 'execution reverted: wrong price'
  const paid = { signature: 'mint(address)', failure: unpaid }
  expect(mintRefusal([unauthorized, unpaid], paid)).toMatchObject({
    code: 'mint_requires_value',
    message: expect.stringContaining('by mint(address): execution reverted: wrong price.'),
  })
  expect(mintRefusal([unpaid, unauthorized], null).code).toBe('mint_unauthorized')
  expect(mintRefusal([], null).code).toBe('mint_unsupported')
})
