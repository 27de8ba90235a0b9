// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Passes native coin on by internal calls, which no event and no top-level value shows.
contract CoinForwarder {
    error ForwardingFailed(address to);

    function forward(address payable to) external payable {
        _send(to, msg.value);
    }

    /// The value is split evenly; what cannot be split goes to the last.
    function split(address payable[] calldata to) external payable {
        uint256 share = msg.value / to.length;
        for (uint256 i = 0; i + 1 < to.length; i++) _send(to[i], share);
        _send(to[to.length - 1], msg.value - share * (to.length - 1));
    }

    /// Moves nothing to them, though the call names the value again.
    function lend(address to) external payable {
        (bool lent,) = to.delegatecall("");
        require(lent);
    }

    function _send(address payable to, uint256 value) private {
        (bool sent,) = to.call{value: value}("");
        if (!sent) revert ForwardingFailed(to);
    }
}
