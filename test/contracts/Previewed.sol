// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC1155Burnable} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Burnable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";

/// Wraps the coin as WETH9 does: no Transfer where it is wrapped or unwrapped.
contract WrappedCoin {
  event Deposit(address indexed dst, uint256 wad);
  event Withdrawal(address indexed src, uint256 wad);
  event Transfer(address indexed src, address indexed dst, uint256 wad);
  string public constant name = "Wrapped";
  string public constant symbol = "WCOIN";
  uint8 public constant decimals = 18;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;

  receive() external payable { deposit(); }
  function deposit() public payable { balanceOf[msg.sender] += msg.value; emit Deposit(msg.sender, msg.value); }
  function withdraw(uint256 wad) external {
    // The words in which nodes say that a sender lacks coins.
    require(balanceOf[msg.sender] >= wad, "Insufficient balance");
    balanceOf[msg.sender] -= wad;
    (bool ok,) = msg.sender.call{value: wad}("");
    require(ok);
    emit Withdrawal(msg.sender, wad);
  }
  function transfer(address to, uint256 wad) external returns (bool) {
    balanceOf[msg.sender] -= wad;
    balanceOf[to] += wad;
    emit Transfer(msg.sender, to, wad);
    return true;
  }
  function totalSupply() external view returns (uint256) { return address(this).balance; }
  /// Emits what nothing stands behind.
  function boast(uint256 wad) external { emit Deposit(msg.sender, wad); }
  /// Tells the same twice, as some copies do.
  function depositLoudly() external payable {
    balanceOf[msg.sender] += msg.value;
    emit Transfer(address(0), msg.sender, msg.value);
    emit Deposit(msg.sender, msg.value);
  }
}

/// Takes deposits, and is no token.
contract Stake {
  event Deposit(address indexed who, uint256 amount);
  function deposit() external payable { emit Deposit(msg.sender, msg.value); }
}

/// Balances are shares of what there is; what moves is rounded down to whole shares.
contract RebasingToken {
  event Transfer(address indexed from, address indexed to, uint256 value);
  uint256 public constant totalSupply = 3000;
  uint256 private constant PER_SHARE = 3;
  uint8 public constant decimals = 0;
  mapping(address => uint256) public shares;
  mapping(address => mapping(address => uint256)) public allowance;
  constructor() { shares[msg.sender] = 1000; }
  function balanceOf(address who) public view returns (uint256) { return shares[who] * PER_SHARE; }
  function transfer(address to, uint256 value) external returns (bool) {
    uint256 moved = value / PER_SHARE;
    shares[msg.sender] -= moved;
    shares[to] += moved;
    emit Transfer(msg.sender, to, moved * PER_SHARE);
    return true;
  }
}

/// Pays while it is created, and creates what leaves its coins to someone (PUSH20, SELFDESTRUCT) in its own creation.
contract PaysAtBirth {
  constructor(address payable first, address payable second) payable {
    (bool ok,) = first.call{value: msg.value / 2}("");
    require(ok);
    bytes memory code = abi.encodePacked(hex"73", second, hex"ff");
    address short;
    uint256 half = msg.value / 2;
    assembly { short := create(half, add(code, 32), mload(code)) }
    require(short != address(0));
  }
}

contract BurnableToken is ERC20Burnable {
  constructor(address holder) ERC20("Burnable", "BRN") { _mint(holder, 100); }
  function mint(address to, uint256 value) external { _mint(to, value); }
}

contract BurnableNft is ERC721Burnable {
  constructor(address holder) ERC721("Burnable", "BRN") { _mint(holder, 0); }
  function mint(address to, uint256 id) external { _mint(to, id); }
}

contract BurnableMulti is ERC1155Burnable {
  constructor(address holder) ERC1155("") { _mint(holder, 1, 3, ""); _mint(holder, 2, 4, ""); }
  function mint(address to, uint256 id, uint256 value) external { _mint(to, id, value, ""); }
}

contract Previewed {
  event Transfer(address indexed from, address indexed to, uint256 value);
  uint256 public kept;

  receive() external payable {}

  function keep(uint256 number) external { kept = number; }
  function payKept(address payable to) external payable { (bool ok,) = to.call{value: kept}(""); require(ok); }

  function refuse() external payable { emit Transfer(msg.sender, address(this), 77); revert("refused"); }
  function payAndRefuse(address payable to) external payable {
    (bool ok,) = to.call{value: msg.value}("");
    require(ok);
    emit Transfer(msg.sender, to, 78);
    revert("refused");
  }
  /// Three payments that come to nothing, among two that do and one event.
  function tries(address payable to) external payable {
    (bool ok,) = to.call{value: 1}("");
    require(ok);
    try this.refuse{value: 2}() {} catch {}
    emit Transfer(address(this), to, 5);
    try this.payAndRefuse{value: 3}(to) {} catch {}
    (ok,) = to.call{value: 10000 ether}("");
    require(!ok);
    (ok,) = to.call{value: 4}("");
    require(ok);
  }

  /// Events and payments taking turns, at two depths.
  function turns(address payable to) external payable {
    emit Transfer(msg.sender, to, 1);
    (bool ok,) = to.call{value: 2}("");
    require(ok);
    emit Transfer(msg.sender, to, 3);
    this.turn{value: 4}(to);
    emit Transfer(msg.sender, to, 6);
  }
  function turn(address payable to) external payable {
    emit Transfer(msg.sender, to, 5);
    (bool ok,) = to.call{value: 4}("");
    require(ok);
  }

  /// Delegate calls to ecrecover, sha256, ripemd160, identity and modexp, then a coin for the identity.
  function precompiles() external payable {
    for (uint160 index = 1; index <= 5; index++) {
      (bool ok,) = address(index).delegatecall(abi.encode(uint256(1), uint256(2)));
      require(ok);
    }
    (bool paid,) = address(4).call{value: msg.value}("");
    require(paid);
  }

  function needKept(uint256 number) external view { require(kept == number, "kept differs"); }
  /// Uses nearly all of its gas, and fails with what is left.
  function burnMost() external { while (gasleft() > 40000) kept += 1; revert("burnt"); }
  function loop() external { while (true) kept += 1; }
  function deep(uint256 depth) external { if (depth > 0) this.deep(depth - 1); else kept = 1; }
  function endless() external { this.endless(); }
  function giveBack(uint256 length) external pure { assembly { return(0, length) } }
  function refuseWith(uint256 length) external pure { assembly { revert(0, length) } }
}
