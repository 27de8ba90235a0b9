// Contracts for tests only: odd tokens, hostile names, and every way to fail.

import type { Abi, Hex } from 'viem'
import type { TestChain } from '../../support/chains.ts'
import { compileCached } from '../../support/contracts.ts'

const SOURCE = `// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Emits any event.
contract Emitter {
  function emitEvent(bytes32[] calldata topics, bytes calldata data) external {
    bytes memory copy = data;
    uint256 count = topics.length;
    bytes32[4] memory t;
    for (uint256 i = 0; i < count; i++) t[i] = topics[i];
    bytes32 t0 = t[0]; bytes32 t1 = t[1]; bytes32 t2 = t[2]; bytes32 t3 = t[3];
    assembly {
      let start := add(copy, 32)
      let size := mload(copy)
      switch count
      case 0 { log0(start, size) }
      case 1 { log1(start, size, t0) }
      case 2 { log2(start, size, t0, t1) }
      case 3 { log3(start, size, t0, t1, t2) }
      default { log4(start, size, t0, t1, t2, t3) }
    }
  }

  function emitMany(uint256 count) external {
    bytes32 topic = keccak256("Transfer(address,address,uint256)");
    for (uint256 i = 0; i < count; i++) {
      assembly {
        mstore(0, add(i, 1))
        log3(0, 32, topic, caller(), add(i, 1))
      }
    }
  }
}

/// An early NFT: nothing of its event is indexed.
contract Kitty {
  event Transfer(address from, address to, uint256 tokenId);
  mapping(uint256 => address) public ownerOf;
  function mint(uint256 tokenId) external { ownerOf[tokenId] = msg.sender; emit Transfer(address(0), msg.sender, tokenId); }
  function transfer(address to, uint256 tokenId) external { ownerOf[tokenId] = to; emit Transfer(msg.sender, to, tokenId); }
  function supportsInterface(bytes4 id) external pure returns (bool) { return id == 0x80ac58cd || id == 0x01ffc9a7; }
}

/// An NFT whose event has three topics instead of the usual four.
contract ThreeTopics {
  event Transfer(address indexed from, address indexed to, uint256 tokenId);
  function transfer(address to, uint256 tokenId) external { emit Transfer(msg.sender, to, tokenId); }
  function supportsInterface(bytes4 id) external pure returns (bool) { return id == 0x80ac58cd || id == 0x01ffc9a7; }
}

/// An old token whose name and symbol are bytes32.
contract Bytes32Token {
  bytes32 public constant name = "Maker";
  bytes32 public constant symbol = "MKR";
  uint256 public constant decimals = 18;
  uint256 public constant totalSupply = 1;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
}

contract HostileToken {
  uint256 public constant decimals = 300;
  uint256 public constant totalSupply = 1;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  string public name = unicode"Good\\u202e\\u0000\\n\\tToken\\u200b<script>";
  function symbol() external pure returns (string memory) {
    bytes memory long = new bytes(100000);
    for (uint256 i = 0; i < 200; i++) long[i] = "A";
    return string(long);
  }
}

/// Answers every call with true.
contract YesToAll {
  fallback() external payable { assembly { mstore(0, 1) return(0, 32) } }
}

/// Loops until the gas is used up.
contract Endless {
  fallback() external payable { while (true) {} }
}

/// Keeps a tenth of each transfer.
contract FeeToken {
  event Transfer(address indexed from, address indexed to, uint256 value);
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  uint256 public constant totalSupply = 1000;
  uint8 public constant decimals = 6;
  constructor() { balanceOf[msg.sender] = 1000; }
  function transfer(address to, uint256 value) external returns (bool) {
    balanceOf[msg.sender] -= value;
    balanceOf[to] += value - value / 10;
    emit Transfer(msg.sender, to, value - value / 10);
    emit Transfer(msg.sender, address(this), value / 10);
    return true;
  }
}

/// Fails in every way, and stores a number that later calls can check.
contract Failing {
  error Told(uint256 number, address who);
  uint256 public kept;
  function text() external pure { revert("no way"); }
  function silent() external pure { revert(); }
  function custom() external view { revert Told(7, msg.sender); }
  function divide(uint256 by) external pure returns (uint256) { return 10 / by; }
  function burnAll() external pure { assembly { invalid() } }
  function keep(uint256 number) external payable { kept = number; }
  function need(uint256 number) external view { require(kept == number, "kept differs"); }
  function needOrSay(uint256 number, string calldata words) external view { require(kept == number, words); }
  function lines() external pure { revert(unicode"line one\\nline two\\u202e"); }
  function half(address payable to) external payable { (bool ok,) = to.call{value: msg.value / 2}(""); require(ok); }
  function balanceOfSender() external view returns (uint256) { return msg.sender.balance; }
  function needBalance(uint256 least) external view { require(msg.sender.balance >= least, "poor"); }
  receive() external payable {}
}

/// Its constructor accepts coins and emits an event.
contract Created {
  event Transfer(address indexed from, address indexed to, uint256 value);
  uint256 public number;
  constructor(uint256 number_) payable { number = number_; emit Transfer(address(0), msg.sender, number_); }
  function bump() external { number += 1; emit Transfer(msg.sender, address(this), number); }
}

contract RefusingCreation {
  constructor() { revert("not created"); }
}

/// Creates a contract with coins, and makes a failing inner call with coins.
contract Inner {
  receive() external payable {}
  function make() external payable { new Created{value: msg.value}(1); }
  function payThenFail(address payable to) external payable {
    (bool ok,) = to.call{value: msg.value}("");
    require(ok);
    revert("undone");
  }
  function tryPaying(address payable to) external payable {
    try this.payThenFail{value: msg.value / 2}(to) {} catch {}
    (bool ok,) = to.call{value: 1}("");
    require(ok);
  }
}
`

type OddContract =
  | 'Emitter'
  | 'Kitty'
  | 'ThreeTopics'
  | 'Bytes32Token'
  | 'HostileToken'
  | 'YesToAll'
  | 'Endless'
  | 'FeeToken'
  | 'Failing'
  | 'Created'
  | 'RefusingCreation'
  | 'Inner'

const compiled = await compileCached({ 'Odd.sol': SOURCE })

export const oddContract = (name: OddContract): { readonly abi: Abi; readonly bytecode: Hex } => {
  const contract = compiled[name]
  if (contract === undefined) throw new Error(`no ${name}`)
  return { abi: contract.abi as unknown as Abi, bytecode: contract.bytecode }
}

/** Deploys such a contract from the chain's first account. */
export const deployOdd = async (chain: TestChain, name: OddContract, args: readonly unknown[] = []) => {
  const { abi, bytecode } = oddContract(name)
  const { contractAddress } = await chain.receiptOf(await chain.walletClient.deployContract({ abi, bytecode, args }))
  if (!contractAddress) throw new Error(`${name} was not deployed`)
  return { address: contractAddress, abi }
}
