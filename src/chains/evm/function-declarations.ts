// The built-in functions of standards. Argument names are those of the EIPs, without leading underscores. The functions for
// swapping, lending and staking are in protocol-declarations.ts.

import type { AssetStandard } from '../../../db/words.ts'

export type Declarations = {
  readonly standard: AssetStandard
  readonly source: string
  readonly structs?: readonly string[]
  readonly functions: readonly string[]
}

export const STANDARD_DECLARATIONS: readonly Declarations[] = [
  {
    standard: 'erc20',
    source: 'EIP-20, and the extensions of OpenZeppelin Contracts',
    functions: [
      'function transfer(address to, uint256 value)',
      'function approve(address spender, uint256 value)',
      'function transferFrom(address from, address to, uint256 value)',
      'function increaseAllowance(address spender, uint256 addedValue)',
      'function decreaseAllowance(address spender, uint256 subtractedValue)',
      'function mint(address to, uint256 value)',
      'function burn(uint256 value)',
      'function burnFrom(address account, uint256 value)',
    ],
  },
  {
    standard: 'erc20',
    source: 'StrongroomToken',
    functions: ['function batchTransfer(address[] recipients, uint256[] amounts)'],
  },
  {
    standard: 'erc20',
    source: 'EIP-2612; the older permit of Dai',
    functions: [
      'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
      'function permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)',
    ],
  },
  {
    standard: 'erc20',
    source: 'EIP-4626',
    functions: [
      'function deposit(uint256 assets, address receiver)',
      'function mint(uint256 shares, address receiver)',
      'function withdraw(uint256 assets, address receiver, address owner)',
      'function redeem(uint256 shares, address receiver, address owner)',
    ],
  },
  {
    standard: 'erc20',
    source: 'WETH9',
    functions: ['function deposit()', 'function withdraw(uint256 wad)'],
  },
  {
    standard: 'erc721',
    source: 'EIP-721, and the burnable extension of OpenZeppelin Contracts',
    functions: [
      'function transferFrom(address from, address to, uint256 tokenId)',
      'function safeTransferFrom(address from, address to, uint256 tokenId)',
      'function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)',
      'function approve(address approved, uint256 tokenId)',
      'function setApprovalForAll(address operator, bool approved)',
      'function burn(uint256 tokenId)',
    ],
  },
  {
    standard: 'erc721',
    source: 'the mints of OpenZeppelin’s wizard, thirdweb, the EIP-721 tutorials and ERC721A',
    functions: [
      'function safeMint(address to)',
      'function safeMint(address to, string uri)',
      'function safeMint(address to, uint256 tokenId)',
      'function safeMint(address to, uint256 tokenId, string uri)',
      'function mint(address to)',
      'function mint(address to, string uri)',
      'function mint(address to, uint256 tokenId)',
      'function mintTo(address to)',
      'function mintTo(address to, string uri)',
      'function mintNFT(address recipient, string tokenURI)',
      'function awardItem(address player, string tokenURI)',
      'function mint(uint256 quantity)',
    ],
  },
  {
    standard: 'erc721',
    source: 'StrongroomCollection',
    functions: ['function safeMintBatch(address[] recipients, bytes32[] digests, string prefix, string suffix)'],
  },
  {
    standard: 'erc1155',
    source: 'StrongroomEditions',
    functions: [
      'function mintToBatch((address to, uint256 tokenId, uint256 amount, bytes32 digest)[] mints, string prefix, string suffix)',
    ],
  },
  {
    standard: 'erc1155',
    source: 'EIP-1155, and the preset of OpenZeppelin Contracts',
    functions: [
      'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
      'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data)',
      'function mint(address to, uint256 id, uint256 value, bytes data)',
      'function mintBatch(address to, uint256[] ids, uint256[] values, bytes data)',
      'function mintTo(address to, uint256 tokenId, string uri, uint256 amount)',
      'function burn(address account, uint256 id, uint256 value)',
      'function burnBatch(address account, uint256[] ids, uint256[] values)',
    ],
  },
  {
    standard: 'other',
    source: 'OpenZeppelin Contracts: Ownable, Ownable2Step, AccessControl, Pausable, UUPSUpgradeable',
    functions: [
      'function transferOwnership(address newOwner)',
      'function acceptOwnership()',
      'function renounceOwnership()',
      'function grantRole(bytes32 role, address account)',
      'function revokeRole(bytes32 role, address account)',
      'function renounceRole(bytes32 role, address callerConfirmation)',
      'function pause()',
      'function unpause()',
      'function upgradeToAndCall(address newImplementation, bytes data)',
      'function multicall(bytes[] data)',
    ],
  },
  {
    standard: 'other',
    source: 'Multicall3',
    structs: [
      'struct Call { address target; bytes callData; }',
      'struct Call3 { address target; bool allowFailure; bytes callData; }',
      'struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }',
    ],
    functions: [
      'function aggregate(Call[] calls)',
      'function tryAggregate(bool requireSuccess, Call[] calls)',
      'function blockAndAggregate(Call[] calls)',
      'function tryBlockAndAggregate(bool requireSuccess, Call[] calls)',
      'function aggregate3(Call3[] calls)',
      'function aggregate3Value(Call3Value[] calls)',
    ],
  },
  {
    standard: 'other',
    source: 'Safe 1.3 and 1.4: Safe, SafeProxyFactory, MultiSend',
    functions: [
      'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
      'function approveHash(bytes32 hashToApprove)',
      'function addOwnerWithThreshold(address owner, uint256 threshold)',
      'function removeOwner(address prevOwner, address owner, uint256 threshold)',
      'function swapOwner(address prevOwner, address oldOwner, address newOwner)',
      'function changeThreshold(uint256 threshold)',
      'function enableModule(address module)',
      'function disableModule(address prevModule, address module)',
      'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce)',
      'function multiSend(bytes transactions)',
    ],
  },
]
