// The functions of contracts that stand at one or few addresses on a network and that many people call, as their authors
// declare them, leading underscores removed. Data alone. PancakeSwap, SushiSwap, QuickSwap, Trader Joe and others have the
// functions of Uniswap's routers.

import type { Declarations } from './function-declarations.ts'

const UNISWAP_V2: Declarations = {
  standard: 'other',
  source: 'Uniswap v2: UniswapV2Router02',
  functions: [
    'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
    'function swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)',
    'function swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline)',
    'function swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)',
    'function swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
    'function swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline)',
    'function swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
    'function swapExactETHForTokensSupportingFeeOnTransferTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline)',
    'function swapExactTokensForETHSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
    'function addLiquidity(address tokenA, address tokenB, uint256 amountADesired, uint256 amountBDesired, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)',
    'function addLiquidityETH(address token, uint256 amountTokenDesired, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)',
    'function removeLiquidity(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)',
    'function removeLiquidityETH(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)',
    'function removeLiquidityWithPermit(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline, bool approveMax, uint8 v, bytes32 r, bytes32 s)',
    'function removeLiquidityETHWithPermit(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline, bool approveMax, uint8 v, bytes32 r, bytes32 s)',
    'function removeLiquidityETHSupportingFeeOnTransferTokens(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)',
    'function removeLiquidityETHWithPermitSupportingFeeOnTransferTokens(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline, bool approveMax, uint8 v, bytes32 r, bytes32 s)',
  ],
}

const UNISWAP_V3: Declarations = {
  standard: 'other',
  source: 'Uniswap v3: SwapRouter, and the periphery that it is made of',
  structs: [
    'struct ExactInputSingleParams { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }',
    'struct ExactInputParams { bytes path; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; }',
    'struct ExactOutputSingleParams { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountOut; uint256 amountInMaximum; uint160 sqrtPriceLimitX96; }',
    'struct ExactOutputParams { bytes path; address recipient; uint256 deadline; uint256 amountOut; uint256 amountInMaximum; }',
  ],
  functions: [
    'function exactInputSingle(ExactInputSingleParams params)',
    'function exactInput(ExactInputParams params)',
    'function exactOutputSingle(ExactOutputSingleParams params)',
    'function exactOutput(ExactOutputParams params)',
    'function unwrapWETH9(uint256 amountMinimum, address recipient)',
    'function unwrapWETH9WithFee(uint256 amountMinimum, address recipient, uint256 feeBips, address feeRecipient)',
    'function refundETH()',
    'function sweepToken(address token, uint256 amountMinimum, address recipient)',
    'function sweepTokenWithFee(address token, uint256 amountMinimum, address recipient, uint256 feeBips, address feeRecipient)',
    'function selfPermit(address token, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
    'function selfPermitIfNecessary(address token, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
    'function selfPermitAllowed(address token, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s)',
    'function selfPermitAllowedIfNecessary(address token, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s)',
  ],
}

const UNISWAP_V3_POSITIONS: Declarations = {
  standard: 'other',
  source: 'Uniswap v3: NonfungiblePositionManager',
  structs: [
    'struct MintParams { address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline; }',
    'struct IncreaseLiquidityParams { uint256 tokenId; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; uint256 deadline; }',
    'struct DecreaseLiquidityParams { uint256 tokenId; uint128 liquidity; uint256 amount0Min; uint256 amount1Min; uint256 deadline; }',
    'struct CollectParams { uint256 tokenId; address recipient; uint128 amount0Max; uint128 amount1Max; }',
  ],
  functions: [
    'function mint(MintParams params)',
    'function increaseLiquidity(IncreaseLiquidityParams params)',
    'function decreaseLiquidity(DecreaseLiquidityParams params)',
    'function collect(CollectParams params)',
  ],
}

const UNISWAP_SWAP_ROUTER_02: Declarations = {
  standard: 'other',
  source: 'Uniswap: SwapRouter02, which names no deadline within the parameters',
  structs: [
    'struct ExactInputSingleParams { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }',
    'struct ExactInputParams { bytes path; address recipient; uint256 amountIn; uint256 amountOutMinimum; }',
    'struct ExactOutputSingleParams { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountOut; uint256 amountInMaximum; uint160 sqrtPriceLimitX96; }',
    'struct ExactOutputParams { bytes path; address recipient; uint256 amountOut; uint256 amountInMaximum; }',
  ],
  functions: [
    'function exactInputSingle(ExactInputSingleParams params)',
    'function exactInput(ExactInputParams params)',
    'function exactOutputSingle(ExactOutputSingleParams params)',
    'function exactOutput(ExactOutputParams params)',
    'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to)',
    'function swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to)',
    'function multicall(uint256 deadline, bytes[] data)',
    'function multicall(bytes32 previousBlockhash, bytes[] data)',
    'function unwrapWETH9(uint256 amountMinimum)',
    'function wrapETH(uint256 value)',
    'function sweepToken(address token, uint256 amountMinimum)',
    'function pull(address token, uint256 value)',
  ],
}

const UNIVERSAL_ROUTER: Declarations = {
  standard: 'other',
  source: 'Uniswap: UniversalRouter',
  functions: [
    'function execute(bytes commands, bytes[] inputs, uint256 deadline)',
    'function execute(bytes commands, bytes[] inputs)',
  ],
}

const PERMIT2: Declarations = {
  standard: 'other',
  source: 'Permit2: IAllowanceTransfer and ISignatureTransfer',
  structs: [
    'struct PermitDetails { address token; uint160 amount; uint48 expiration; uint48 nonce; }',
    'struct PermitSingle { PermitDetails details; address spender; uint256 sigDeadline; }',
    'struct PermitBatch { PermitDetails[] details; address spender; uint256 sigDeadline; }',
    'struct TokenSpenderPair { address token; address spender; }',
    'struct AllowanceTransferDetails { address from; address to; uint160 amount; address token; }',
    'struct TokenPermissions { address token; uint256 amount; }',
    'struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
    'struct PermitBatchTransferFrom { TokenPermissions[] permitted; uint256 nonce; uint256 deadline; }',
    'struct SignatureTransferDetails { address to; uint256 requestedAmount; }',
  ],
  functions: [
    'function approve(address token, address spender, uint160 amount, uint48 expiration)',
    'function permit(address owner, PermitSingle permitSingle, bytes signature)',
    'function permit(address owner, PermitBatch permitBatch, bytes signature)',
    'function transferFrom(address from, address to, uint160 amount, address token)',
    'function transferFrom(AllowanceTransferDetails[] transferDetails)',
    'function lockdown(TokenSpenderPair[] approvals)',
    'function invalidateNonces(address token, address spender, uint48 newNonce)',
    'function permitTransferFrom(PermitTransferFrom permit, SignatureTransferDetails transferDetails, address owner, bytes signature)',
    'function permitTransferFrom(PermitBatchTransferFrom permit, SignatureTransferDetails[] transferDetails, address owner, bytes signature)',
    'function permitWitnessTransferFrom(PermitTransferFrom permit, SignatureTransferDetails transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature)',
    'function permitWitnessTransferFrom(PermitBatchTransferFrom permit, SignatureTransferDetails[] transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature)',
    'function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)',
  ],
}

const ONE_INCH_5: Declarations = {
  standard: 'other',
  source: '1inch AggregationRouterV5',
  structs: [
    'struct SwapDescription { address srcToken; address dstToken; address srcReceiver; address dstReceiver; uint256 amount; uint256 minReturnAmount; uint256 flags; }',
  ],
  functions: [
    'function swap(address executor, SwapDescription desc, bytes permit, bytes data)',
    'function unoswap(address srcToken, uint256 amount, uint256 minReturn, uint256[] pools)',
    'function unoswapTo(address recipient, address srcToken, uint256 amount, uint256 minReturn, uint256[] pools)',
    'function uniswapV3Swap(uint256 amount, uint256 minReturn, uint256[] pools)',
    'function uniswapV3SwapTo(address recipient, uint256 amount, uint256 minReturn, uint256[] pools)',
  ],
}

const ONE_INCH_6: Declarations = {
  standard: 'other',
  source: '1inch AggregationRouterV6, whose addresses with flags are uint256',
  structs: [
    'struct SwapDescription { address srcToken; address dstToken; address srcReceiver; address dstReceiver; uint256 amount; uint256 minReturnAmount; uint256 flags; }',
  ],
  functions: [
    'function swap(address executor, SwapDescription desc, bytes data)',
    'function unoswap(uint256 token, uint256 amount, uint256 minReturn, uint256 dex)',
    'function unoswap2(uint256 token, uint256 amount, uint256 minReturn, uint256 dex, uint256 dex2)',
    'function unoswap3(uint256 token, uint256 amount, uint256 minReturn, uint256 dex, uint256 dex2, uint256 dex3)',
    'function unoswapTo(uint256 to, uint256 token, uint256 amount, uint256 minReturn, uint256 dex)',
    'function ethUnoswap(uint256 minReturn, uint256 dex)',
    'function ethUnoswap2(uint256 minReturn, uint256 dex, uint256 dex2)',
    'function ethUnoswap3(uint256 minReturn, uint256 dex, uint256 dex2, uint256 dex3)',
  ],
}

const ZERO_EX: Declarations = {
  standard: 'other',
  source: '0x protocol v4: the features of its exchange proxy',
  structs: ['struct Transformation { uint32 deploymentNonce; bytes data; }'],
  functions: [
    'function transformERC20(address inputToken, address outputToken, uint256 inputTokenAmount, uint256 minOutputTokenAmount, Transformation[] transformations)',
    'function sellToUniswap(address[] tokens, uint256 sellAmount, uint256 minBuyAmount, bool isSushi)',
    'function sellEthForTokenToUniswapV3(bytes encodedPath, uint256 minBuyAmount, address recipient)',
    'function sellTokenForEthToUniswapV3(bytes encodedPath, uint256 sellAmount, uint256 minBuyAmount, address recipient)',
    'function sellTokenForTokenToUniswapV3(bytes encodedPath, uint256 sellAmount, uint256 minBuyAmount, address recipient)',
  ],
}

const AAVE_V3: Declarations = {
  standard: 'other',
  source: 'Aave v3: Pool; its deposit is that of v2',
  functions: [
    'function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)',
    'function supplyWithPermit(address asset, uint256 amount, address onBehalfOf, uint16 referralCode, uint256 deadline, uint8 permitV, bytes32 permitR, bytes32 permitS)',
    'function deposit(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)',
    'function withdraw(address asset, uint256 amount, address to)',
    'function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)',
    'function repay(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf)',
    'function repayWithPermit(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf, uint256 deadline, uint8 permitV, bytes32 permitR, bytes32 permitS)',
    'function repayWithATokens(address asset, uint256 amount, uint256 interestRateMode)',
    'function setUserUseReserveAsCollateral(address asset, bool useAsCollateral)',
    'function setUserEMode(uint8 categoryId)',
    'function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover, bool receiveAToken)',
    'function flashLoan(address receiverAddress, address[] assets, uint256[] amounts, uint256[] interestRateModes, address onBehalfOf, bytes params, uint16 referralCode)',
    'function flashLoanSimple(address receiverAddress, address asset, uint256 amount, bytes params, uint16 referralCode)',
  ],
}

const LIDO: Declarations = {
  standard: 'erc20',
  source: 'Lido: stETH and wstETH',
  functions: [
    'function submit(address referral)',
    'function wrap(uint256 stETHAmount)',
    'function unwrap(uint256 wstETHAmount)',
  ],
}

export const PROTOCOL_DECLARATIONS: readonly Declarations[] = [
  PERMIT2,
  UNISWAP_V2,
  UNISWAP_V3,
  UNISWAP_V3_POSITIONS,
  UNISWAP_SWAP_ROUTER_02,
  UNIVERSAL_ROUTER,
  ONE_INCH_5,
  ONE_INCH_6,
  ZERO_EX,
  AAVE_V3,
  LIDO,
]
