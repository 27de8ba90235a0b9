// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// An ERC-20 that anyone may mint, whose holders can sign permits (ERC-2612) and transfers (ERC-3009).
contract SignedToken is ERC20Permit, ERC3009 {
    constructor() ERC20("Signed Token", "SIG") ERC20Permit("Signed Token") {}

    function mint(address to, uint256 value) external {
        _mint(to, value);
    }
}
