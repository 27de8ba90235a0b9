// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A token that keeps a hundredth of each transfer for a collector.
contract FeeToken is ERC20 {
    address private immutable _collector;

    constructor(address collector) ERC20("Fee", "FEE") {
        _collector = collector;
    }

    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (from == address(0) || to == address(0)) return super._update(from, to, value);
        super._update(from, _collector, value / 100);
        super._update(from, to, value - value / 100);
    }
}

/// A token as USDT is: its functions return nothing.
contract SilentToken {
    string public constant name = "Silent";
    string public constant symbol = "SIL";
    uint8 public constant decimals = 6;
    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
    }
}

/// A token that answers false, and moves nothing, where others revert.
contract FalseToken is ERC20 {
    constructor() ERC20("False", "FLS") {}

    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    function transfer(address to, uint256 value) public override returns (bool) {
        if (balanceOf(msg.sender) < value) return false;
        return super.transfer(to, value);
    }
}

/// A debt as Aave's tokens have it (aave-v3-core, DebtTokenBase.sol): it has decimals, and its allowance reverts.
contract DebtToken {
    string public constant name = "Variable Debt USDC";
    string public constant symbol = "variableDebtUSDC";
    uint8 public constant decimals = 6;
    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function borrow(address account, uint256 value) external {
        totalSupply += value;
        balanceOf[account] += value;
        emit Transfer(address(0), account, value);
    }

    function allowance(address, address) external pure returns (uint256) {
        revert("80");
    }
}

/// A network's coin as a contract, as Polygon's MRC20 at 0x1010: its transfers are payable, and its balances are those of the coin.
contract CoinContract {
    string public constant name = "Matic";
    string public constant symbol = "POL";
    uint8 public constant decimals = 18;
    uint256 public constant totalSupply = 10_000_000_000 ether;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function balanceOf(address account) external view returns (uint256) {
        return account.balance;
    }

    function allowance(address, address) external pure returns (uint256) {
        return 0;
    }

    function transfer(address payable to, uint256 value) external payable returns (bool) {
        if (msg.value != value) return false;
        (bool sent, ) = to.call{value: value}("");
        require(sent);
        emit Transfer(msg.sender, to, value);
        return true;
    }

    function withdraw(uint256 value) external payable {
        require(msg.value == value);
    }
}

/// Accepts no coins.
contract Refuser {
    receive() external payable {
        revert("no, thanks");
    }
}
