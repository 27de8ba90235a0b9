// The built-in declarations are compared with selectors and sources that others published.

import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { signatureOf } from '../../../src/chains/evm/abi-types.ts'
import { knownErrors, knownFunctions, knownSelectors } from '../../../src/chains/evm/abis.ts'

/** From 4byte.directory, OpenChain's signature database and Etherscan's method ids. */
const FUNCTIONS: readonly (readonly [string, string])[] = [
  ['0xa9059cbb', 'transfer(address,uint256)'],
  ['0x095ea7b3', 'approve(address,uint256)'],
  ['0x23b872dd', 'transferFrom(address,address,uint256)'],
  ['0x39509351', 'increaseAllowance(address,uint256)'],
  ['0xa457c2d7', 'decreaseAllowance(address,uint256)'],
  ['0x40c10f19', 'mint(address,uint256)'],
  ['0x42966c68', 'burn(uint256)'],
  ['0x79cc6790', 'burnFrom(address,uint256)'],
  ['0xd505accf', 'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)'],
  ['0x8fcbaf0c', 'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)'],
  ['0x6e553f65', 'deposit(uint256,address)'],
  ['0x94bf804d', 'mint(uint256,address)'],
  ['0xb460af94', 'withdraw(uint256,address,address)'],
  ['0xba087652', 'redeem(uint256,address,address)'],
  ['0xd0e30db0', 'deposit()'],
  ['0x2e1a7d4d', 'withdraw(uint256)'],
  ['0x42842e0e', 'safeTransferFrom(address,address,uint256)'],
  ['0xb88d4fde', 'safeTransferFrom(address,address,uint256,bytes)'],
  ['0xa22cb465', 'setApprovalForAll(address,bool)'],
  ['0x40d097c3', 'safeMint(address)'],
  ['0xd204c45e', 'safeMint(address,string)'],
  ['0xa1448194', 'safeMint(address,uint256)'],
  ['0xcd279c7c', 'safeMint(address,uint256,string)'],
  ['0x6a627842', 'mint(address)'],
  ['0xd0def521', 'mint(address,string)'],
  ['0x755edd17', 'mintTo(address)'],
  ['0x0075a317', 'mintTo(address,string)'],
  ['0xeacabe14', 'mintNFT(address,string)'],
  ['0xcf378343', 'awardItem(address,string)'],
  ['0xa0712d68', 'mint(uint256)'],
  ['0xf242432a', 'safeTransferFrom(address,address,uint256,uint256,bytes)'],
  ['0x2eb2c2d6', 'safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)'],
  ['0x731133e9', 'mint(address,uint256,uint256,bytes)'],
  ['0x1f7fdffa', 'mintBatch(address,uint256[],uint256[],bytes)'],
  ['0xb03f4528', 'mintTo(address,uint256,string,uint256)'],
  ['0xf5298aca', 'burn(address,uint256,uint256)'],
  ['0x6b20c454', 'burnBatch(address,uint256[],uint256[])'],
  ['0xf2fde38b', 'transferOwnership(address)'],
  ['0x79ba5097', 'acceptOwnership()'],
  ['0x715018a6', 'renounceOwnership()'],
  ['0x2f2ff15d', 'grantRole(bytes32,address)'],
  ['0xd547741f', 'revokeRole(bytes32,address)'],
  ['0x36568abe', 'renounceRole(bytes32,address)'],
  ['0x8456cb59', 'pause()'],
  ['0x3f4ba83a', 'unpause()'],
  ['0x4f1ef286', 'upgradeToAndCall(address,bytes)'],
  ['0xac9650d8', 'multicall(bytes[])'],
  ['0x252dba42', 'aggregate((address,bytes)[])'],
  ['0xbce38bd7', 'tryAggregate(bool,(address,bytes)[])'],
  ['0xc3077fa9', 'blockAndAggregate((address,bytes)[])'],
  ['0x399542e9', 'tryBlockAndAggregate(bool,(address,bytes)[])'],
  ['0x82ad56cb', 'aggregate3((address,bool,bytes)[])'],
  ['0x174dea71', 'aggregate3Value((address,bool,uint256,bytes)[])'],
  ['0x6a761202', 'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)'],
  ['0xd4d9bdcd', 'approveHash(bytes32)'],
  ['0x0d582f13', 'addOwnerWithThreshold(address,uint256)'],
  ['0xf8dc5dd9', 'removeOwner(address,address,uint256)'],
  ['0xe318b52b', 'swapOwner(address,address,address)'],
  ['0x694e80c3', 'changeThreshold(uint256)'],
  ['0x610b5925', 'enableModule(address)'],
  ['0xe009cfde', 'disableModule(address,address)'],
  ['0x1688f0b9', 'createProxyWithNonce(address,bytes,uint256)'],
  ['0x8d80ff0a', 'multiSend(bytes)'],
  ['0x87517c45', 'approve(address,address,uint160,uint48)'],
  ['0x2b67b570', 'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)'],
  ['0x2a2d80d1', 'permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)'],
  ['0x36c78516', 'transferFrom(address,address,uint160,address)'],
  ['0x0d58b1db', 'transferFrom((address,address,uint160,address)[])'],
  ['0xcc53287f', 'lockdown((address,address)[])'],
  ['0x65d9723c', 'invalidateNonces(address,address,uint48)'],
  ['0x30f28b7a', 'permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)'],
  ['0xedd9444b', 'permitTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes)'],
  [
    '0x137c29fe',
    'permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)',
  ],
  [
    '0xfe8ec1a7',
    'permitWitnessTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes32,string,bytes)',
  ],
  ['0x3ff9dcb1', 'invalidateUnorderedNonces(uint256,uint256)'],
  ['0x38ed1739', 'swapExactTokensForTokens(uint256,uint256,address[],address,uint256)'],
  ['0x8803dbee', 'swapTokensForExactTokens(uint256,uint256,address[],address,uint256)'],
  ['0x7ff36ab5', 'swapExactETHForTokens(uint256,address[],address,uint256)'],
  ['0x4a25d94a', 'swapTokensForExactETH(uint256,uint256,address[],address,uint256)'],
  ['0x18cbafe5', 'swapExactTokensForETH(uint256,uint256,address[],address,uint256)'],
  ['0xfb3bdb41', 'swapETHForExactTokens(uint256,address[],address,uint256)'],
  ['0x5c11d795', 'swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)'],
  ['0xb6f9de95', 'swapExactETHForTokensSupportingFeeOnTransferTokens(uint256,address[],address,uint256)'],
  ['0x791ac947', 'swapExactTokensForETHSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)'],
  ['0xe8e33700', 'addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)'],
  ['0xf305d719', 'addLiquidityETH(address,uint256,uint256,uint256,address,uint256)'],
  ['0xbaa2abde', 'removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)'],
  ['0x02751cec', 'removeLiquidityETH(address,uint256,uint256,uint256,address,uint256)'],
  [
    '0x2195995c',
    'removeLiquidityWithPermit(address,address,uint256,uint256,uint256,address,uint256,bool,uint8,bytes32,bytes32)',
  ],
  [
    '0xded9382a',
    'removeLiquidityETHWithPermit(address,uint256,uint256,uint256,address,uint256,bool,uint8,bytes32,bytes32)',
  ],
  ['0xaf2979eb', 'removeLiquidityETHSupportingFeeOnTransferTokens(address,uint256,uint256,uint256,address,uint256)'],
  [
    '0x5b0d5984',
    'removeLiquidityETHWithPermitSupportingFeeOnTransferTokens(address,uint256,uint256,uint256,address,uint256,bool,uint8,bytes32,bytes32)',
  ],
  ['0x414bf389', 'exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))'],
  ['0xc04b8d59', 'exactInput((bytes,address,uint256,uint256,uint256))'],
  ['0xdb3e2198', 'exactOutputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))'],
  ['0xf28c0498', 'exactOutput((bytes,address,uint256,uint256,uint256))'],
  ['0x49404b7c', 'unwrapWETH9(uint256,address)'],
  ['0x9b2c0a37', 'unwrapWETH9WithFee(uint256,address,uint256,address)'],
  ['0x12210e8a', 'refundETH()'],
  ['0xdf2ab5bb', 'sweepToken(address,uint256,address)'],
  ['0xe0e189a0', 'sweepTokenWithFee(address,uint256,address,uint256,address)'],
  ['0xf3995c67', 'selfPermit(address,uint256,uint256,uint8,bytes32,bytes32)'],
  ['0xc2e3140a', 'selfPermitIfNecessary(address,uint256,uint256,uint8,bytes32,bytes32)'],
  ['0x4659a494', 'selfPermitAllowed(address,uint256,uint256,uint8,bytes32,bytes32)'],
  ['0xa4a78f0c', 'selfPermitAllowedIfNecessary(address,uint256,uint256,uint8,bytes32,bytes32)'],
  ['0x88316456', 'mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))'],
  ['0x219f5d17', 'increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))'],
  ['0x0c49ccbe', 'decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))'],
  ['0xfc6f7865', 'collect((uint256,address,uint128,uint128))'],
  ['0x04e45aaf', 'exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))'],
  ['0xb858183f', 'exactInput((bytes,address,uint256,uint256))'],
  ['0x5023b4df', 'exactOutputSingle((address,address,uint24,address,uint256,uint256,uint160))'],
  ['0x09b81346', 'exactOutput((bytes,address,uint256,uint256))'],
  ['0x472b43f3', 'swapExactTokensForTokens(uint256,uint256,address[],address)'],
  ['0x42712a67', 'swapTokensForExactTokens(uint256,uint256,address[],address)'],
  ['0x5ae401dc', 'multicall(uint256,bytes[])'],
  ['0x1f0464d1', 'multicall(bytes32,bytes[])'],
  ['0x49616997', 'unwrapWETH9(uint256)'],
  ['0x1c58db4f', 'wrapETH(uint256)'],
  ['0xe90a182f', 'sweepToken(address,uint256)'],
  ['0xf2d5d56b', 'pull(address,uint256)'],
  ['0x3593564c', 'execute(bytes,bytes[],uint256)'],
  ['0x24856bc3', 'execute(bytes,bytes[])'],
  ['0x12aa3caf', 'swap(address,(address,address,address,address,uint256,uint256,uint256),bytes,bytes)'],
  ['0x0502b1c5', 'unoswap(address,uint256,uint256,uint256[])'],
  ['0xf78dc253', 'unoswapTo(address,address,uint256,uint256,uint256[])'],
  ['0xe449022e', 'uniswapV3Swap(uint256,uint256,uint256[])'],
  ['0xbc80f1a8', 'uniswapV3SwapTo(address,uint256,uint256,uint256[])'],
  ['0x07ed2379', 'swap(address,(address,address,address,address,uint256,uint256,uint256),bytes)'],
  ['0x83800a8e', 'unoswap(uint256,uint256,uint256,uint256)'],
  ['0x8770ba91', 'unoswap2(uint256,uint256,uint256,uint256,uint256)'],
  ['0x19367472', 'unoswap3(uint256,uint256,uint256,uint256,uint256,uint256)'],
  ['0xe2c95c82', 'unoswapTo(uint256,uint256,uint256,uint256,uint256)'],
  ['0xa76dfc3b', 'ethUnoswap(uint256,uint256)'],
  ['0x89af926a', 'ethUnoswap2(uint256,uint256,uint256)'],
  ['0x188ac35d', 'ethUnoswap3(uint256,uint256,uint256,uint256)'],
  ['0x415565b0', 'transformERC20(address,address,uint256,uint256,(uint32,bytes)[])'],
  ['0xd9627aa4', 'sellToUniswap(address[],uint256,uint256,bool)'],
  ['0x3598d8ab', 'sellEthForTokenToUniswapV3(bytes,uint256,address)'],
  ['0x803ba26d', 'sellTokenForEthToUniswapV3(bytes,uint256,uint256,address)'],
  ['0x6af479b2', 'sellTokenForTokenToUniswapV3(bytes,uint256,uint256,address)'],
  ['0x617ba037', 'supply(address,uint256,address,uint16)'],
  ['0x02c205f0', 'supplyWithPermit(address,uint256,address,uint16,uint256,uint8,bytes32,bytes32)'],
  ['0xe8eda9df', 'deposit(address,uint256,address,uint16)'],
  ['0x69328dec', 'withdraw(address,uint256,address)'],
  ['0xa415bcad', 'borrow(address,uint256,uint256,uint16,address)'],
  ['0x573ade81', 'repay(address,uint256,uint256,address)'],
  ['0xee3e210b', 'repayWithPermit(address,uint256,uint256,address,uint256,uint8,bytes32,bytes32)'],
  ['0x2dad97d4', 'repayWithATokens(address,uint256,uint256)'],
  ['0x5a3b74b9', 'setUserUseReserveAsCollateral(address,bool)'],
  ['0x28530a47', 'setUserEMode(uint8)'],
  ['0x00a718a9', 'liquidationCall(address,address,address,uint256,bool)'],
  ['0xab9c4b5d', 'flashLoan(address,address[],uint256[],uint256[],address,bytes,uint16)'],
  ['0x42b0b77c', 'flashLoanSimple(address,address,uint256,bytes,uint16)'],
  ['0xa1903eab', 'submit(address)'],
  ['0xea598cb0', 'wrap(uint256)'],
  ['0xde0e9a3e', 'unwrap(uint256)'],
]

/** The ids of the interfaces of our own contracts, as the compiler computes them. */
const OURS: typeof FUNCTIONS = [
  ['0x88d695b2', 'batchTransfer(address[],uint256[])'],
  ['0x93fe996c', 'safeMintBatch(address[],bytes32[],string,string)'],
  ['0x206a6548', 'mintToBatch((address,uint256,uint256,bytes32)[],string,string)'],
]

/** Common errors, from the same databases. */
const ERRORS: readonly (readonly [string, string])[] = [
  ['0x5274afe7', 'SafeERC20FailedOperation(address)'],
  ['0x6697b232', 'AccessControlBadConfirmation()'],
  ['0xe2517d3f', 'AccessControlUnauthorizedAccount(address,bytes32)'],
  ['0x9996b315', 'AddressEmptyCode(address)'],
  ['0xcd786059', 'AddressInsufficientBalance(address)'],
  ['0x03dee4c5', 'ERC1155InsufficientBalance(address,uint256,uint256,uint256)'],
  ['0x57f447ce', 'ERC1155InvalidReceiver(address)'],
  ['0xc2f868f4', 'ERC1167FailedCreateClone()'],
  ['0xfb8f41b2', 'ERC20InsufficientAllowance(address,uint256,uint256)'],
  ['0xe450d38c', 'ERC20InsufficientBalance(address,uint256,uint256)'],
  ['0xe602df05', 'ERC20InvalidApprover(address)'],
  ['0xec442f05', 'ERC20InvalidReceiver(address)'],
  ['0x96c6fd1e', 'ERC20InvalidSender(address)'],
  ['0x94280d62', 'ERC20InvalidSpender(address)'],
  ['0x62791302', 'ERC2612ExpiredSignature(uint256)'],
  ['0x4b800e46', 'ERC2612InvalidSigner(address,address)'],
  ['0x64283d7b', 'ERC721IncorrectOwner(address,uint256,address)'],
  ['0x177e802f', 'ERC721InsufficientApproval(address,uint256)'],
  ['0x64a0ae92', 'ERC721InvalidReceiver(address)'],
  ['0x7e273289', 'ERC721NonexistentToken(uint256)'],
  ['0xd93c0665', 'EnforcedPause()'],
  ['0x8dfc202b', 'ExpectedPause()'],
  ['0x1425ea42', 'FailedInnerCall()'],
  ['0x752d88c0', 'InvalidAccountNonce(address,uint256)'],
  ['0xf92ee8a9', 'InvalidInitialization()'],
  ['0x227bc153', 'MathOverflowedMulDiv()'],
  ['0xd7e6bcf8', 'NotInitializing()'],
  ['0x1e4fbdf7', 'OwnableInvalidOwner(address)'],
  ['0x118cdaa7', 'OwnableUnauthorizedAccount(address)'],
  ['0x3ee5aeb5', 'ReentrancyGuardReentrantCall()'],
  ['0xcfb3b942', 'ApprovalCallerNotOwnerNorApproved()'],
  ['0xcf4700e4', 'ApprovalQueryForNonexistentToken()'],
  ['0x8f4eb604', 'BalanceQueryForZeroAddress()'],
  ['0x2e076300', 'MintToZeroAddress()'],
  ['0xb562e8dd', 'MintZeroQuantity()'],
  ['0xdf2d9b42', 'OwnerQueryForNonexistentToken()'],
  ['0x59c896be', 'TransferCallerNotOwnerNorApproved()'],
  ['0xa1148100', 'TransferFromIncorrectOwner()'],
  ['0xd1a57ed6', 'TransferToNonERC721ReceiverImplementer()'],
  ['0xea553b34', 'TransferToZeroAddress()'],
  ['0xa14c4b50', 'URIQueryForNonexistentToken()'],
  ['0x82b42900', 'Unauthorized()'],
  ['0x0dc149f0', 'AlreadyInitialized()'],
  ['0xf4d678b8', 'InsufficientBalance()'],
  ['0x13be252b', 'InsufficientAllowance()'],
  ['0xe5cfe957', 'TotalSupplyOverflow()'],
  ['0xddafbaef', 'InvalidPermit()'],
  ['0x1a15a3cc', 'PermitExpired()'],
  ['0x4b6e7f18', 'NotOwnerNorApproved()'],
  ['0xceea21b6', 'TokenDoesNotExist()'],
  ['0xb12d13eb', 'ETHTransferFailed()'],
  ['0x90b8ec18', 'TransferFailed()'],
  ['0x7939f424', 'TransferFromFailed()'],
  ['0x3e3f8f73', 'ApproveFailed()'],
  ['0xd81b2f2e', 'AllowanceExpired(uint256)'],
  ['0xf96fb071', 'InsufficientAllowance(uint256)'],
  ['0x24d35a26', 'ExcessiveInvalidation()'],
  ['0x3728b83d', 'InvalidAmount(uint256)'],
  ['0xff633a38', 'LengthMismatch()'],
  ['0x756688fe', 'InvalidNonce()'],
  ['0xcd21db4f', 'SignatureExpired(uint256)'],
  ['0x815e1d64', 'InvalidSigner()'],
  ['0x8baa579f', 'InvalidSignature()'],
  ['0x4be6321b', 'InvalidSignatureLength()'],
  ['0xb0669cbc', 'InvalidContractSignature()'],
  ['0x2c4029e9', 'ExecutionFailed(uint256,bytes)'],
  ['0x5bf6f916', 'TransactionDeadlinePassed()'],
  ['0xd76a1e9e', 'InvalidCommandType(uint256)'],
  ['0x675cae38', 'InsufficientToken()'],
  ['0x6a12f104', 'InsufficientETH()'],
  ['0xa3281672', 'BalanceTooLow()'],
  ['0xdeaa01e6', 'InvalidBips()'],
  ['0x3b99b53d', 'SliceOutOfBounds()'],
  ['0x849eaf98', 'V2TooLittleReceived()'],
  ['0x8ab0bc16', 'V2TooMuchRequested()'],
  ['0x316cf0eb', 'V3InvalidSwap()'],
  ['0x39d35496', 'V3TooLittleReceived()'],
  ['0x739dbe52', 'V3TooMuchRequested()'],
  ['0x8b063d73', 'V4TooLittleReceived(uint256,uint256)'],
  ['0x5212cba1', 'CurrencyNotSettled()'],
  ['0x486aa307', 'PoolNotInitialized()'],
  ['0x7983c051', 'PoolAlreadyInitialized()'],
  ['0x54e3ca0d', 'ManagerLocked()'],
  ['0xbe8b8507', 'SwapAmountCannotBeZero()'],
  ['0x7c9c6e8f', 'PriceLimitAlreadyExceeded(uint160,uint160)'],
  ['0x6e6c9830', 'CurrenciesOutOfOrderOrEqual(address,address)'],
  ['0xbfb22adf', 'DeadlinePassed(uint256)'],
  ['0x31e30ad0', 'MaximumAmountExceeded(uint128,uint128)'],
  ['0x12816f22', 'MinimumAmountInsufficient(uint128,uint128)'],
  ['0x90bfb865', 'WrappedError(address,bytes4,bytes,bytes)'],
  ['0x064a4ec6', 'ReturnAmountIsNotEnough(uint256,uint256)'],
  ['0x220266b6', 'FailedOp(uint256,string)'],
  ['0x65c8fd4d', 'FailedOpWithRevert(uint256,string,bytes)'],
]

const OPENZEPPELIN = join(import.meta.dir, '../../../node_modules/@openzeppelin/contracts')

/**
 * Every error that the installed OpenZeppelin Contracts declare for tokens, access and proxies, with its parameters.
 */
const openZeppelinErrors = (): readonly { readonly name: string; readonly parameters: readonly string[][] }[] =>
  ['access', 'interfaces', 'proxy', 'token', 'finance']
    .flatMap((folder) =>
      readdirSync(join(OPENZEPPELIN, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => file.endsWith('.sol'))
    .flatMap((file) => [...readFileSync(join(OPENZEPPELIN, file), 'utf8').matchAll(/^\s+error (\w+)\(([^)]*)\);/gm)])
    .map(([, name = '', list = '']) => ({
      name,
      parameters: list
        .split(',')
        .filter((each) => each.trim() !== '')
        .map((each) => each.trim().split(/\s+/)),
    }))

describe('the built-in declarations', () => {
  test('have only functions with published selectors', () => {
    const known = [...FUNCTIONS, ...OURS]
    for (const [selector, signature] of known) {
      const functions = knownFunctions(selector)
      expect([selector, [...new Set(functions.map(signatureOf))]]).toEqual([selector, [signature]])
    }
    expect(knownSelectors().functions.toSorted()).toEqual(known.map(([selector]) => selector).toSorted())
  })

  test('have only errors with published selectors, each declared once', () => {
    for (const [selector, signature] of ERRORS) {
      expect([selector, knownErrors(selector).map(signatureOf)]).toEqual([selector, [signature]])
    }
    for (const selector of knownSelectors().errors)
      expect([selector, knownErrors(selector).length]).toEqual([selector, 1])
  })

  test('have the errors of OpenZeppelin Contracts with the same parameter names', () => {
    const errors = openZeppelinErrors()
    expect(errors.length).toBeGreaterThan(80)
    const known = new Set(
      knownSelectors()
        .errors.flatMap(knownErrors)
        .map((error) => JSON.stringify(error)),
    )
    const unknown = errors.filter(({ name, parameters }) => {
      const inputs = parameters.map(([type = '', parameter = '']) => ({ name: parameter, type }))
      return !known.has(JSON.stringify({ name, inputs }))
    })
    expect(unknown).toEqual([])
  })

  test('have parameter names without a leading underscore and without duplicates', () => {
    const { functions, errors } = knownSelectors()
    for (const { name, inputs } of [...functions.flatMap(knownFunctions), ...errors.flatMap(knownErrors)]) {
      const names = inputs.map((input) => input.name).filter((each) => each !== '')
      expect([name, names.length, names.some((each) => each.startsWith('_'))]).toEqual([
        name,
        new Set(names).size,
        false,
      ])
    }
  })
})
